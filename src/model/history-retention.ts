import { z } from 'zod'

/** The retention of the history of a property, as in its schema. Contract 9. */

const unitMs = { h: 3_600_000, d: 86_400_000, w: 604_800_000, y: 31_536_000_000 } as const
/** Maximum number of units in a span: a hundred years, in hours. */
const countMax = 876_000

const spanPattern = /^([1-9]\d{0,5})([hdwy])$/

const span = z.string().refine((text) => {
  if (text === '0' || text === 'forever') return true
  const [, count] = spanPattern.exec(text) ?? []
  return count !== undefined && Number(count) <= countMax
}, `must be a span such as 12h, 30d, 6w or 2y with at most ${countMax} units, "forever", or "0" for none`)

/** If a span is absent, the setting of the server applies. */
export const HistoryRetention = z.union(
  [z.literal(false), z.strictObject({ raw: span.optional(), hourly: span.optional(), daily: span.optional() })],
  'must be false, or an object of raw, hourly and daily',
)
export type HistoryRetention = z.infer<typeof HistoryRetention>

/** The span in ms; infinity for `forever`. */
export function spanMs(text: string): number {
  if (text === 'forever') return Number.POSITIVE_INFINITY
  const [, count = '0', unit = 'h'] = spanPattern.exec(text) ?? []
  return Number(count) * unitMs[unit as keyof typeof unitMs]
}

/** The properties of one service that have a retention of their own, by id. */
export interface ServiceRetention {
  readonly tenant: string
  readonly service: string
  readonly properties: ReadonlyMap<number, HistoryRetention>
}

/** Schemas of earlier releases may have another field of this name, which is ignored. */
export function retentionsIn(schema: {
  readonly properties: Readonly<Record<string, { readonly history?: unknown }>>
}): ServiceRetention['properties'] {
  const found = new Map<number, HistoryRetention>()
  for (const [key, { history }] of Object.entries(schema.properties)) {
    if (history === undefined) continue
    const { data } = HistoryRetention.safeParse(history)
    if (data !== undefined) found.set(Number(key), data)
  }
  return found
}
