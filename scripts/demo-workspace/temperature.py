"""Temperatures, from one scale to another."""


def celsius_to_fahrenheit(celsius: float) -> float:
    """Return a temperature of the Celsius scale on the Fahrenheit scale."""
    return celsius * 5 / 9 + 32


def fahrenheit_to_celsius(fahrenheit: float) -> float:
    """Return a temperature of the Fahrenheit scale on the Celsius scale."""
    return (fahrenheit - 32) * 5 / 9
