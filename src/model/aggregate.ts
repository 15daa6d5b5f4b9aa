/** Aggregates that history computes from the values in a span of time. Contract 9. */
export const aggregateNames = [
  'min',
  'max',
  'avg',
  'sum',
  'count',
  'first',
  'last',
  'delta',
  'increase',
  'stddev',
  'twa',
  'duration',
] as const
export type AggregateName = (typeof aggregateNames)[number]

/** How one aggregate of many devices becomes one value. Contract 9. */
export const acrossNames = ['min', 'max', 'avg', 'sum', 'count'] as const
export type AcrossName = (typeof acrossNames)[number]
