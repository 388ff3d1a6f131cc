"""Spells the numbers 0 to 9999 in eight languages: the text that the demo model learns from.

Owns the rules of the spelling, so that the data is generated and nobody else's. Refuses numbers outside the range.
"""


def english(n):
    ones = (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen"
    ).split()
    tens = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
    if n < 20:
        return ones[n]
    if n < 100:
        return tens[n // 10] + ("-" + ones[n % 10] if n % 10 else "")
    if n < 1000:
        return ones[n // 100] + " hundred" + (" and " + english(n % 100) if n % 100 else "")
    rest = n % 1000
    return ones[n // 1000] + " thousand" + ((" and " if rest < 100 else " ") + english(rest) if rest else "")


def german(n):
    ones = (
        "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
        "siebzehn achtzehn neunzehn"
    ).split()
    tens = "_ _ zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()

    def short(k):
        return "ein" if k == 1 else ones[k]

    if n < 20:
        return ones[n]
    if n < 100:
        return (short(n % 10) + "und" if n % 10 else "") + tens[n // 10]
    if n < 1000:
        return short(n // 100) + "hundert" + (german(n % 100) if n % 100 else "")
    return short(n // 1000) + "tausend" + (german(n % 1000) if n % 1000 else "")


def dutch(n):
    ones = (
        "nul een twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien "
        "zeventien achttien negentien"
    ).split()
    tens = "_ _ twintig dertig veertig vijftig zestig zeventig tachtig negentig".split()
    if n < 20:
        return ones[n]
    if n < 100:
        unit = ones[n % 10]
        return (unit + ("ën" if unit.endswith("e") else "en") if n % 10 else "") + tens[n // 10]
    if n < 1000:
        return (ones[n // 100] if n >= 200 else "") + "honderd" + (dutch(n % 100) if n % 100 else "")
    return (ones[n // 1000] if n >= 2000 else "") + "duizend" + (" " + dutch(n % 1000) if n % 1000 else "")


def swedish(n):
    ones = (
        "noll ett två tre fyra fem sex sju åtta nio tio elva tolv tretton fjorton femton sexton sjutton arton nitton"
    ).split()
    tens = "_ _ tjugo trettio fyrtio femtio sextio sjuttio åttio nittio".split()
    if n < 20:
        return ones[n]
    if n < 100:
        return tens[n // 10] + (ones[n % 10] if n % 10 else "")
    if n < 1000:
        return ones[n // 100] + "hundra" + (swedish(n % 100) if n % 100 else "")
    return ("et" if n < 2000 else ones[n // 1000]) + "tusen" + (swedish(n % 1000) if n % 1000 else "")


def french(n):
    ones = (
        "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept "
        "dix-huit dix-neuf"
    ).split()
    tens = "_ _ vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt".split()
    if n < 20:
        return ones[n]
    if n < 100:
        ten = n // 10
        rest = n % 10 + (10 if ten in (7, 9) else 0)
        if rest == 0:
            return tens[ten] + ("s" if ten == 8 else "")
        return tens[ten] + (" et " if rest in (1, 11) and ten < 8 else "-") + ones[rest]
    if n < 1000:
        many, rest = n // 100, n % 100
        head = "cent" if many == 1 else ones[many] + (" cent" if rest else " cents")
        return head + (" " + french(rest) if rest else "")
    return ("" if n < 2000 else ones[n // 1000] + " ") + "mille" + (" " + french(n % 1000) if n % 1000 else "")


def spanish(n):
    ones = (
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
        "dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete "
        "veintiocho veintinueve"
    ).split()
    tens = "_ _ _ treinta cuarenta cincuenta sesenta setenta ochenta noventa".split()
    hundreds = (
        "_ ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos"
    ).split()
    if n < 30:
        return ones[n]
    if n < 100:
        return tens[n // 10] + (" y " + ones[n % 10] if n % 10 else "")
    if n == 100:
        return "cien"
    if n < 1000:
        return hundreds[n // 100] + (" " + spanish(n % 100) if n % 100 else "")
    return ("" if n < 2000 else ones[n // 1000] + " ") + "mil" + (" " + spanish(n % 1000) if n % 1000 else "")


def italian(n):
    ones = (
        "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici "
        "diciassette diciotto diciannove"
    ).split()
    tens = "_ _ venti trenta quaranta cinquanta sessanta settanta ottanta novanta".split()
    if n < 20:
        return ones[n]
    if n < 100:
        unit = n % 10
        ten = tens[n // 10][:-1] if unit in (1, 8) else tens[n // 10]
        return ten + ("tré" if unit == 3 else ones[unit] if unit else "")
    if n < 1000:
        return (ones[n // 100] if n >= 200 else "") + "cento" + (italian(n % 100) if n % 100 else "")
    return ("mille" if n < 2000 else ones[n // 1000] + "mila") + (italian(n % 1000) if n % 1000 else "")


def portuguese(n):
    ones = (
        "zero um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezesseis dezessete "
        "dezoito dezenove"
    ).split()
    tens = "_ _ vinte trinta quarenta cinquenta sessenta setenta oitenta noventa".split()
    hundreds = "_ cento duzentos trezentos quatrocentos quinhentos seiscentos setecentos oitocentos novecentos".split()
    if n < 20:
        return ones[n]
    if n < 100:
        return tens[n // 10] + (" e " + ones[n % 10] if n % 10 else "")
    if n == 100:
        return "cem"
    if n < 1000:
        return hundreds[n // 100] + (" e " + portuguese(n % 100) if n % 100 else "")
    rest = n % 1000
    joint = " e " if rest < 100 or rest % 100 == 0 else " "
    return ("" if n < 2000 else ones[n // 1000] + " ") + "mil" + (joint + portuguese(rest) if rest else "")


LANGUAGES = {
    "de": german, "en": english, "es": spanish, "fr": french, "it": italian, "nl": dutch, "pt": portuguese,
    "sv": swedish,
}  # fmt: skip
