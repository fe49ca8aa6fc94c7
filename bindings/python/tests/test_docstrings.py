"""What docstrings say of a tool and its parameters, in the styles of Google, NumPy and Sphinx."""

import dataclasses
from typing import Annotated

import pytest
from agent_loop import ToolContext, tool
from agent_loop.docstrings import Docstring

GOOGLE = """Forecasts the weather
    of a city.

    Use it for the next days only.

    Args:
        city (str): The city,
            for example Oslo.
        days (Optional[dict[str, int]], optional): How many,
          at most 7: more are guesses.

        unit:
            Celsius or Fahrenheit.
        **more: Anything else.

    Returns:
        city: not a parameter.

    Raises:
        ValueError: For an unknown city.
    """

NUMPY = """Forecasts the weather
    of a city.

    Use it for the next days only.

    Parameters
    ----------
    city : str
        The city,
        for example Oslo.
    days : int, optional
        How many, at most 7: more are guesses.
    unit, more
        Celsius or Fahrenheit.

    Returns
    -------
    city : str
        Not a parameter.
    """

SPHINX = """Forecasts the weather
    of a city.

    Use it for the next days only.

    :param city: The city,
        for example Oslo.
    :type city: str
    :param int days: How many, at most 7: more are guesses.
    :param unit: Celsius or Fahrenheit.
    :returns: The forecast.
    :raises ValueError: For an unknown city.
    """

SUMMARY = "Forecasts the weather of a city."


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX, SPHINX.replace(":param", "@param"), GOOGLE.replace("    ", "\t")])
def test_each_style_describes_the_parameters(text):
    docstring = Docstring(text)
    assert docstring.summary == SUMMARY
    described = {name: docstring.parameters[name] for name in ("city", "days", "unit")}
    assert described == {
        "city": "The city, for example Oslo.",
        "days": "How many, at most 7: more are guesses.",
        "unit": "Celsius or Fahrenheit.",
    }
    assert set(docstring.parameters) <= {"city", "days", "unit", "more"}


@pytest.mark.parametrize(
    ("text", "summary", "parameters"),
    [
        (None, "", {}),
        ("", "", {}),
        ("One line.", "One line.", {}),
        ("Note: this is text: no section.", "Note: this is text: no section.", {}),
        ("\n    Args:\n        a: Only this.\n    ", "", {"a": "Only this."}),
        ("Text.\n\nArgs:\n\nReturns:\n    A text.", "Text.", {}),
        ("Text.\n\nArgs:\na: not indented", "Text.", {}),
        ("Text.\n\nArgs:\n    no entry at all", "Text.", {}),
        ("Text.\n\nParameters\n----------\n", "Text.", {}),
        ("Text.\n\nMore.\n\nExample:\n    >>> f()\n\nArgs:\n    a: A.", "Text.", {"a": "A."}),
        ("Text.\n\n:param a:\n:param b: B.", "Text.", {"b": "B."}),
        ("Text with :func:`name` in it.\n\n:param a: A.", "Text with :func:`name` in it.", {"a": "A."}),
        ("Text.\n\nArgs:\n    a: A.\nNotes:\n    b: not one.\n\nKeyword Args:\n    c: C.", "Text.", {"a": "A.", "c": "C."}),
    ],
)
def test_odd_docstrings(text, summary, parameters):
    docstring = Docstring(text)
    assert (docstring.summary, docstring.parameters) == (summary, parameters)


def test_a_tool_has_the_descriptions_and_annotated_ones_count_more():
    @tool
    def forecast(context: ToolContext, city: str, days: Annotated[int, "1 to 7"] = 1, unit: str = "C") -> str:
        """The forecast.

        Args:
            context: Not for the model.
            city: The city.
            days: Not this.
        """
        return city

    assert forecast.description == "The forecast."
    assert forecast.parameters["properties"] == {
        "city": {"description": "The city.", "type": "string"},
        "days": {"type": "integer", "description": "1 to 7", "default": 1},
        "unit": {"type": "string", "default": "C"},
    }


def test_methods_partials_and_given_descriptions():
    class Weather:
        @tool
        def forecast(self, city: str) -> str:
            """The forecast.

            :param city: The city.
            """
            return city

    @tool(description="Another one.")
    def other(city: str) -> str:
        """The forecast.

        :param city: The city.
        """
        return city

    for made, description in ((Weather().forecast, "The forecast."), (other, "Another one.")):
        assert made.description == description
        assert made.parameters["properties"]["city"] == {"description": "The city.", "type": "string"}


def test_a_class_without_a_docstring_has_none():
    @dataclasses.dataclass
    class Point:
        x: int

    @tool
    def draw(point: Point) -> None: ...

    assert "description" not in draw.parameters["properties"]["point"]
