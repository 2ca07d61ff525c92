import unittest

from temperature import celsius_to_fahrenheit, fahrenheit_to_celsius


class Temperatures(unittest.TestCase):
    def test_water_boils(self):
        self.assertEqual(celsius_to_fahrenheit(100), 212)

    def test_water_freezes(self):
        self.assertEqual(celsius_to_fahrenheit(0), 32)

    def test_there_and_back(self):
        self.assertAlmostEqual(fahrenheit_to_celsius(celsius_to_fahrenheit(37)), 37)


if __name__ == "__main__":
    unittest.main()
