"""One use of a store from Python: tool.py ADDRESS COMMAND ID [ARGUMENT …]. `tool.mjs` is the same from Node."""

import asyncio
import json
import sys

from agent_loop import AgentError, Store


async def main(address, command, id, *arguments):
    store = Store.open(address, holder="python")
    session = store.session(id)
    match command:
        case "append":
            async with session.open() as open:
                for record in json.loads(arguments[0]):
                    await open.append([record])
                await open.set_info(title="Zoë's", metadata={"tool_name": {"a_b": [1, 2.5, None]}})
        case "hold":
            async with session.open():
                print("open", flush=True)
                await asyncio.to_thread(sys.stdin.read)
        case "follow":
            async for record in session.follow():
                print(json.dumps(record, sort_keys=True), flush=True)
                if record["seq"] == int(arguments[0]):
                    break
        case "rebuilt":
            async with session.open() as open:
                print(json.dumps([open.rebuilt, [message.to_dict() for message in open.messages]], sort_keys=True))
        case "info":
            info = await session.info()
            print(json.dumps([info.id, info.title, info.metadata, info.created_ms, info.updated_ms, info.holder]))
        case "fork":
            await session.fork(int(arguments[0]), id=arguments[1])
        case "export":
            sys.stdout.buffer.write((await session.export()).encode())
        case "import":
            await store.import_(sys.stdin.buffer.read().decode(), id)


try:
    asyncio.run(main(*sys.argv[1:]))
except AgentError as error:
    print(f"{error.kind}: {error.message}")
