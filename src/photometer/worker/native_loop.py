"""placeholder, helper Part 3 replaces this"""


class NativeLoop:
    pass
