/**
 * Puts values together that cross from native code in pieces: one JavaScript string may be too short for a long conversation.
 */

/** @internal Reads a value; `pieces`, if any, are the elements of its list of messages, which is empty in `head`. */
export function joined<T>(head: string, pieces: readonly string[] | undefined): T {
  const value = JSON.parse(head)
  if (pieces !== undefined) value['toolResults' in value ? 'toolResults' : 'messages'] = pieces.map((piece) => JSON.parse(piece))
  return value
}
