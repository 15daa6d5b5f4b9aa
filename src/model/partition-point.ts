/**
 * Binary search: the index of the first element for which the predicate is false. The predicate must be true for all
 * elements before that index, and false from there on.
 */
export function partitionPoint(length: number, holds: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) low = middle + 1
    else high = middle
  }
  return low
}
