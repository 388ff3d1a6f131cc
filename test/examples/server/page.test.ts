// Owns the page as a person uses it, in a real browser without a window. Refuses to judge its looks.

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { HOSTILE_NAMES, loadHostile, metric, start, until } from './fake.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** Debian's browser, or Google's, as found in the PATH. */
function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const paths = ['chromium', 'chromium-browser', 'google-chrome'].flatMap((name) =>
    folders.map((folder) => join(folder, name)),
  );
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const executablePath = findChromium();

describe.skipIf(executablePath === undefined)('the page (skipped where there is no Chromium in the PATH)', async () => {
  const { address, server } = await start({ tokens: 1_000_000 });
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: executablePath!,
      args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
    });
    page = await browser.newPage();
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(address) && !request.url().startsWith('data:')) complaints.push(request.url());
    });
  });
  beforeEach(async () => {
    complaints.length = 0;
    await page.goto(address);
    await page.locator('#tree summary').first().waitFor();
    return () => expect(complaints).toEqual([]);
  });
  afterAll(() => browser?.close());

  const progress = (text: RegExp) => page.locator('#progress').filter({ hasText: text }).waitFor();

  it('streams a text at the press of a button, and says what it was', async () => {
    await page.fill('#prompt', 'pace:30');
    await page.fill('#tokens', '40');
    await page.click('#start');
    await page.locator('#text').filter({ hasText: 'pace:30 word0' }).waitFor();
    // It is shown as it comes: the last word is not there yet.
    expect(await page.textContent('#text')).not.toContain('word39');
    expect(await page.isDisabled('#start')).toBe(true);
    await progress(/^40 tokens, [\d.]+ a second; the limit of tokens \(seed 0\)$/);
    expect(await page.textContent('#text')).toContain('word39');
    expect(await page.isDisabled('#stop')).toBe(true);
  });

  it('stops, with the button and with the keyboard, and the server stops as well', async () => {
    for (const [field, stop] of [
      ['#prompt', () => page.click('#stop')],
      ['#seed', () => page.keyboard.press('Escape')],
    ] as const) {
      await page.fill('#prompt', 'pace:5');
      await page.fill('#tokens', '1000');
      await page.press(field, 'Control+Enter');
      await page.locator('#text').filter({ hasText: 'word0' }).waitFor();
      await stop();
      await progress(/^stopped after \d+ tokens$/);
      await until(async () => (await metric(address, 'generations_active')) === 0);
      expect(await page.isEnabled('#start')).toBe(true);
    }
  });

  it('shows what went wrong', async () => {
    await page.fill('#prompt', 'fail later');
    await page.click('#start');
    await progress(/^INTERNAL: the server made a mistake$/);
    expect(await page.getAttribute('#progress', 'class')).toContain('problem');
    expect(await page.isEnabled('#start')).toBe(true);
  });

  it('shows the tensors as a tree in natural order, which opens by the keyboard', async () => {
    const names = () => page.locator('#tree .row:visible .name').allInnerTexts();
    expect(await names()).toEqual(['model', 'embed.weight F32 [64, 64]', 'layers', 'odd/name": é U8 [0]']);
    await page.locator('summary', { hasText: 'layers' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('#tree .row', { hasText: '10.weight' }).waitFor();
    expect((await names()).slice(3, 6)).toEqual(['0.weight F32 [6]', '2.weight C64 [1]', '10.weight F32 [2]']);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('figcaption', { hasText: 'model.layers.0.weight' }).waitFor();
    expect(await page.locator('.facts').textContent()).toBe(
      '6 values, 2 not finite · −1 to 2 · mean 0.5 · deviation 1.118',
    );
    expect(await page.locator('.row[aria-pressed="true"]').textContent()).toContain('0.weight');
  });

  it('draws a histogram of the first tensor by itself, and says why there is none of another', async () => {
    await page.locator('#histogram svg').waitFor();
    expect(await page.locator('#histogram .bin').count()).toBe(48);
    await page.locator('summary', { hasText: 'layers' }).click();
    await page.locator('#tree button', { hasText: 'C64' }).click();
    await page.locator('#histogram .problem', { hasText: /^INVALID_ARGUMENT: / }).waitFor();
    // The browser itself notes an answer of 422 as an error.
    expect(complaints.splice(0)).toEqual([expect.stringContaining('422')]);
  });

  it('shows what is in memory, and changes it', async () => {
    const share = () => page.locator('#tree summary .bar').first().getAttribute('title');
    await page.locator('#memory-text', { hasText: '16.0 KiB of 16.0 KiB in memory' }).waitFor();
    await until(async () => (await share()) === '100 % in memory');
    const [first] = server.models;
    const evict = vi.spyOn(first!.require().weights, 'evict');
    await page.click('#evict');
    await until(async () => evict.mock.calls.length === 6);
    await page.click('#prefetch');
    await page.locator('#memory-text', { hasText: /^16.0 KiB of 16.0 KiB in memory$/ }).waitFor();
    expect(await page.isHidden('#memory-problem')).toBe(true);
  });

  it('writes what the model writes, whatever it is', async () => {
    await page.fill('#prompt', 'odd');
    await page.fill('#tokens', '2');
    await page.click('#start');
    await progress(/^2 tokens, /);
    expect(await page.textContent('#text')).toBe(`odd${'\u2028<b>"\r\n\n'.repeat(2)}`);
  });

  it('shows tensors of any name, and takes no name for a part of the page', async () => {
    const hostile = await start({}, loadHostile);
    await page.goto(hostile.address);
    await page.locator('#tree .row').first().waitFor();
    await page.locator('#tree button', { hasText: 'onerror' }).click();
    await page.locator('figcaption', { hasText: '<img src=x' }).waitFor();
    expect(await page.locator('#tree img, figure img').count()).toBe(0);
    expect(await page.evaluate('window.broken')).toBeUndefined();
    expect(await page.locator('#tree > *').count()).toBe(HOSTILE_NAMES.length);
    // Requests, all of them to that server.
    expect(complaints.splice(0).filter((line) => !line.startsWith(hostile.address))).toEqual([]);
  });

  it('says why there is nothing to see of a model that could not be opened', async () => {
    const failed = await start({}, () => Promise.reject(new Error('no')));
    await page.goto(failed.address);
    await page.locator('#memory-text', { hasText: /^MODEL_FAILED: / }).waitFor();
    expect(await page.textContent('#model')).toContain('first (failed)');
    // Requests to that server, and the browser's notes of its 503.
    complaints.splice(0);
  });

  it('changes to another model', async () => {
    await page.selectOption('#model', 'second');
    await page.fill('#prompt', 'a');
    await page.fill('#tokens', '1');
    await page.click('#start');
    await progress(/^1 tokens, /);
    expect(await metric(address, 'generated_tokens_total{model="second"}')).toBe(1);
  });
});
