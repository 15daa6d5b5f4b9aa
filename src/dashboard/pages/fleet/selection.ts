/**
 * The selected devices after a click on the box of the device `pressed`. With Shift, `from` is the last clicked device,
 * and the click changes all devices from there.
 */
export function toggleSelection(
  selected: ReadonlySet<string>,
  identifiers: readonly string[],
  pressed: string,
  from = pressed,
): ReadonlySet<string> {
  const next = new Set(selected)
  const ends = [identifiers.indexOf(from), identifiers.indexOf(pressed)]
  const range = ends.includes(-1) ? [pressed] : identifiers.slice(Math.min(...ends), Math.max(...ends) + 1)
  for (const identifier of range) {
    if (selected.has(pressed)) next.delete(identifier)
    else next.add(identifier)
  }
  return next
}
