/**
 * A text of its own. What msgpack hands out may be a view of all the texts of its frame, and would keep them: a session
 * of 20 characters kept a HELLO of 650 for as long as its device was linked.
 */
export function ownText(text: string): string {
  return text.isWellFormed() ? Buffer.from(text).toString() : text
}
