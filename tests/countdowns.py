"""Replies to the Countdown problem 15, 44, 79 → 50, and whether they are right: both scorers read them alike."""

COUNTDOWN_REPLIES = {
    "44-15=29,79-29=50": True,
    "44-15=29\n79-29=50": True,
    "44-15=29; 79-29=50": True,
    "44-15=29,\n\n79-29=50\nThat is all.": True,
    "44 − 15 = 29, 79 − 29 = 50.": True,
    "$44-15=29$, $79-29=50$": True,
    "**44-15=29, 79-29=50**": True,
    "- 44-15=29,79-29=50 - done": True,
    "1+1=2\n44-15=29,79-29=50": True,  # what was tried on an earlier line
    "3*4=12\n44-15=29\n79-29=50": True,
    "1+1=2,44-15=29,79-29=50": False,
    "44-15=29,79-29=50\n1+1=2": False,
    "44-15=29 79-29=50": False,
    "4 4-15=29,79-29=50": False,  # spaces join no numbers
    "44-1 5=29,79-29=50": False,
    "44-15=2 9,79-29=50": False,
    "44-15=29,79-29=5 0": False,
    "44-15=29,79-29=50.5": False,
    "44-15=29,79-29=500": False,
    "5+44-15=29,79-29=50": False,
    "5 + 44-15=29,79-29=50": False,
    "44-15=29,79-29=50*2": False,
    "": False,
}
