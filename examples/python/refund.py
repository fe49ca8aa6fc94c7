"""An agent that ends with a value of a type, and asks before it pays: python refund.py MODEL [BASE_URL]

The answer is a `Refunded` or a `Refused`. Whoever sits at the terminal decides on each payment.
"""

import asyncio
import sys
from dataclasses import dataclass
from typing import Annotated, Literal

from agent_loop import Agent, AgentError, SuspendedCall, tool


@dataclass
class Order:
    item: str
    euros: float
    status: Literal["delivered", "lost", "on its way"]


@dataclass
class Refunded:
    """The customer has the money back."""

    order: str
    euros: float


@dataclass
class Refused:
    """There is no refund."""

    order: str
    reason: Annotated[str, "One sentence to the customer."]


ORDERS = {"A-17": Order("a lamp", 40.0, "lost"), "A-18": Order("a chair", 95.0, "delivered")}


@tool
async def find_order(number: str) -> Order:
    """Finds an order.

    Args:
        number: such as A-17.
    """
    if number not in ORDERS:
        raise LookupError(f"there is no order {number}: there are {', '.join(ORDERS)}")
    return ORDERS[number]


@tool(needs_approval=lambda arguments: arguments["euros"] > 20)
async def pay_back(number: str, euros: float) -> str:
    """Pays money back to the customer. A person decides on more than 20 euros."""
    return f"{euros:.2f} EUR were paid for {number}"


def ask(call: SuspendedCall) -> str:
    return "approve" if input(f"{call.tool_name} {call.arguments}? [y/n] ").strip() == "y" else "deny"


async def main(model: str = "anthropic/claude-sonnet-4-5", base_url: str | None = None) -> None:
    agent = Agent(
        model,
        base_url=base_url,
        system_prompt="You decide on refunds: lost orders are paid back.",
        tools=[find_order, pay_back],
        output=Refunded | Refused,
    )
    result = await agent.prompt("My order A-17 never came.")
    while result.outcome == "suspended":
        result = await agent.resume({call.tool_call_id: ask(call) for call in result.pending})
    match result.output:
        case Refunded(order, euros):
            print(f"{order}: {euros:.2f} EUR back")
        case Refused(order, reason):
            print(f"{order}: {reason}")


try:
    asyncio.run(main(*sys.argv[1:]))
except AgentError as error:
    sys.exit(f"{error.kind}: {error.message}")
