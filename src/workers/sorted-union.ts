/** The number of names processed between two yields. */
const atATime = 4_096

/**
 * Merges sorted lists without duplicates into one. Yields regularly. Returns undefined if there are more than
 * `countMax` names.
 */
export function* sortedUnion(
  lists: readonly (readonly string[])[],
  countMax: number,
): Generator<undefined, readonly string[] | undefined> {
  // Merges neighbouring lists in pairs: with n lists, each name is read about log2 n times.
  let left = lists
  while (left.length > 1) {
    const merged: (readonly string[])[] = []
    for (let place = 0; place < left.length; place += 2) {
      const [one = [], other = []] = [left[place], left[place + 1]]
      const both = yield* mergedOf(one, other)
      if (both.length > countMax) return undefined
      merged.push(both)
    }
    left = merged
  }
  const [all = []] = left
  return all.length > countMax ? undefined : all
}

function* mergedOf(one: readonly string[], other: readonly string[]): Generator<undefined, readonly string[]> {
  const merged: string[] = []
  let [a, b] = [0, 0]
  for (
    let left = one[a], right = other[b];
    left !== undefined || right !== undefined;
    left = one[a], right = other[b]
  ) {
    const isLeft = right === undefined || (left !== undefined && left <= right)
    const isRight = left === undefined || (right !== undefined && right <= left)
    merged.push((isLeft ? left : right) as string)
    if (isLeft) a++
    if (isRight) b++
    if (merged.length % atATime === 0) yield undefined
  }
  return merged
}
