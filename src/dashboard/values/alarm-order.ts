import type { Item } from '#client/routes'

export type Alarm = Item<'GET /alarms'>
export type StatusRow = Item<'GET /alarms/status'>

/** The most severe first. */
export const severityOrder = { critical: 0, warning: 1, info: 2 } as const

/** The most severe first, then the oldest. The severity of a new alarm may not be known yet. */
export function bySeverityAndAge(one: StatusRow, other: StatusRow): number {
  const of = ({ severity = 'info' }: StatusRow) => severityOrder[severity]
  return of(one) - of(other) || one.since - other.since
}
