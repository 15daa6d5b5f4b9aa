import { z } from 'zod'
import { deviceIdentifiersField } from '#api/fields'
import { defineRoute, ErrorBody, errorAnswers } from '#api/route-entry'
import { exampleDevice, exampleService } from '#api/state-shape'
import { acrossNames, aggregateNames } from '#model/aggregate'
import { FilterCondition } from '#model/condition'
import { boundGroupsMax, GroupReference } from '#model/group'
import { DeviceIdentifier, ServiceIdentifier } from '#model/identifier'
import { faultBoundedArray } from '#model/json-value'
import { DeviceStatus } from '#model/meta'
import { PropertyValue } from '#model/property-type'

/** History of properties. Contract 9. */

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const
type Unit = keyof typeof unitMs

/** A span such as `5m`, in ms. */
function spanMs(text: string): number {
  return Number(text.slice(0, -1)) * unitMs[text.slice(-1) as Unit]
}

/** A time in a query: Unix ms, or a number of milliseconds before now. */
export type QueryTime = { readonly at: number } | { readonly beforeMs: number }

export const timeField = z
  .string()
  .regex(/^(\d{1,15}|-\d{1,9}[smhdw])$/, 'must be Unix milliseconds, or a time before now such as -24h')
  .transform((text): QueryTime => (text.startsWith('-') ? { beforeMs: spanMs(text.slice(1)) } : { at: Number(text) }))

const intervalMsMin = 1_000

/** In ms, or `auto`. */
export const intervalField = z
  .string()
  .regex(/^(auto|\d{1,13}|\d{1,7}[smhd])$/, 'must be milliseconds, a span such as 5m, or auto')
  .transform((text) => (text === 'auto' ? text : /\d$/.test(text) ? Number(text) : spanMs(text)))
  .refine((interval) => interval === 'auto' || interval >= intervalMsMin, `must be at least ${intervalMsMin} ms`)

function numberField(max: number) {
  return z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= 1 && value <= max, `must be from 1 to ${max}`)
}

export const aggregatesField = z
  .string()
  .transform((text) => [...new Set(text.split(','))])
  .pipe(z.array(z.enum(aggregateNames, `must be some of ${aggregateNames.join(', ')}`)))

export const zoneField = z.string().max(64).refine(isZone, 'must be a time zone such as Europe/Berlin')

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return true
  } catch {
    return false
  }
}

const positionField = z.string().regex(/^[\w-]{1,64}\.\d{1,15}$/, 'is not a valid position')

export const HistoryQuery = z.object({
  properties: z.string().min(1).max(16_384).optional(),
  from: timeField.optional(),
  to: timeField.optional(),
  interval: intervalField.optional(),
  points: numberField(10_000).optional(),
  aggregates: aggregatesField.optional(),
  tz: zoneField.optional(),
  limit: numberField(100_000).optional(),
  order: z.enum(['asc', 'desc'], 'must be asc or desc').optional(),
  /** In links to following pages: the stream position of the first page. */
  position: positionField.optional(),
})
export type HistoryQuery = z.infer<typeof HistoryQuery>

const time = z.int()
const times = z.array(time)
const numbers = z.array(z.number().nullable())
const Span = z.object({ from: time, to: time })
export const HistorySeries = z.object({
  propId: z.int(),
  name: z.string().optional(),
  type: z.string(),
  unit: z.string().optional(),
  retainedFrom: time.optional(),
  time: times,
  value: z.array(PropertyValue).optional(),
  min: numbers.optional(),
  max: numbers.optional(),
  avg: numbers.optional(),
  sum: numbers.optional(),
  count: z.array(z.int()).optional(),
  first: z.array(PropertyValue.nullable()).optional(),
  last: z.array(PropertyValue.nullable()).optional(),
  delta: numbers.optional(),
  increase: numbers.optional(),
  stddev: numbers.optional(),
  twa: numbers.optional(),
  duration: z.array(z.record(z.string(), z.number())).optional(),
  marks: z.array(z.object({ time, tag: z.enum(['error', 'removed']), error: z.string().optional() })),
})
export const ServiceHistory = z.object({
  from: time,
  to: time,
  interval: z.int().optional(),
  tz: z.string().optional(),
  gaps: z.array(Span),
  series: z.array(HistorySeries),
})

const route = {
  access: { resource: 'service', action: 'read', within: 'service of device' },
  hasPosition: true,
  query: HistoryQuery,
  answers: {
    200: { description: 'The history', schema: ServiceHistory },
    404: {
      description: 'The resource does not exist, the caller may not read it, or history is off',
      schema: ErrorBody,
    },
    ...errorAnswers(503),
  },
} as const
const example = {
  query: { from: '-1h', interval: '5m' },
  answer: {
    from: 1_789_999_200_000,
    to: 1_790_002_800_000,
    interval: 300_000,
    tz: 'UTC',
    gaps: [],
    series: [
      { propId: 8192, type: 'FLOAT', time: [1_790_000_100_000], min: [20.9], avg: [21.3], max: [21.7], marks: [] },
    ],
  },
}

export const readDeviceHistory = defineRoute('readDeviceHistory', {
  ...route,
  route: 'GET /devices/:deviceIdentifier/services/:serviceIdentifier/history',
  summary: 'Read the history of the properties of a service of a device',
  example,
})

export const readServiceHistory = defineRoute('readServiceHistory', {
  ...route,
  route: 'GET /services/:serviceIdentifier/devices/:deviceIdentifier/history',
  summary: 'Read the history of the properties of a service of a device',
  example,
})

const StatusHistoryQuery = HistoryQuery.pick({ from: true, to: true, limit: true, position: true })
export type StatusHistoryQuery = z.infer<typeof StatusHistoryQuery>

export const StatusHistory = z.object({ from: time, to: time, time: times, status: z.array(DeviceStatus) })

export const readStatusHistory = defineRoute('readStatusHistory', {
  route: 'GET /meta/:deviceIdentifier/history',
  summary: 'Read when a device changed its status',
  access: { resource: 'meta', action: 'read', within: 'device' },
  hasPosition: true,
  query: StatusHistoryQuery,
  answers: { ...route.answers, 200: { description: 'The changes, in order', schema: StatusHistory } },
  example: {
    answer: { from: 1_789_999_200_000, to: 1_790_002_800_000, time: [1_790_000_100_000], status: ['online'] },
  },
})

/** History of several devices: queries, exports, and imports. Contract 9. */

const seriesMax = 100
export const acrossDevicesMax = 100_000

/** A field that is text in a query; in a body it may also be an integer. */
function orNumber<Field extends z.ZodType<unknown, string>>(field: Field) {
  return z.union([z.int().transform(String), z.string()]).pipe(field)
}

/** The id of a property, or its name in the schema. */
const PropertyKey = z.union([z.int().min(0).transform(String), z.string().min(1).max(256)])

const SeriesQuestion = z.strictObject({
  deviceIdentifier: DeviceIdentifier,
  serviceIdentifier: ServiceIdentifier,
  properties: z
    .union([
      z.array(PropertyKey).min(1).max(seriesMax),
      z
        .string()
        .min(1)
        .transform((text) => text.split(',')),
    ])
    .optional(),
})

const span = { from: orNumber(timeField).optional(), to: orNumber(timeField).optional() }

export const SeriesHistoryQuestion = z.strictObject({
  series: z.array(SeriesQuestion).min(1).max(seriesMax),
  ...span,
  interval: orNumber(intervalField).optional(),
  points: z.int().min(1).max(10_000).optional(),
  aggregates: z.union([z.array(z.enum(aggregateNames)).min(1).max(aggregateNames.length), aggregatesField]).optional(),
  tz: zoneField.optional(),
  limit: z.int().min(1).max(100_000).optional(),
  order: z.enum(['asc', 'desc']).optional(),
})
export type SeriesHistoryQuestion = z.infer<typeof SeriesHistoryQuestion>

export const AcrossHistoryQuestion = z.strictObject({
  devices: faultBoundedArray(DeviceIdentifier).max(acrossDevicesMax).optional(),
  groups: z.array(GroupReference).max(boundGroupsMax).optional(),
  filter: FilterCondition.optional(),
  serviceIdentifier: ServiceIdentifier,
  property: PropertyKey,
  aggregate: z.enum(aggregateNames).exclude(['duration']).default('avg'),
  across: z.enum(acrossNames),
  interval: orNumber(intervalField),
  points: z.int().min(1).max(10_000).optional(),
  tz: zoneField.optional(),
  ...span,
})
export type AcrossHistoryQuestion = z.infer<typeof AcrossHistoryQuestion>

export const SeriesHistory = ServiceHistory.extend({
  series: z.array(HistorySeries.extend({ deviceIdentifier: z.string(), serviceIdentifier: z.string() })),
  /** The span of the next page of points, if there is one. */
  next: Span.optional(),
})

export const AcrossHistory = z.object({
  from: time,
  to: time,
  interval: z.int(),
  aggregate: z.enum(aggregateNames),
  across: z.enum(acrossNames),
  devices: z.int(),
  time: times,
  value: numbers,
})

export const queryHistory = defineRoute('queryHistory', {
  route: 'POST /history/query',
  summary: 'Read the history of several properties, or of one property across many devices',
  access: { resource: 'service', action: 'read', within: 'list' },
  hasPosition: true,
  body: { schema: z.union([SeriesHistoryQuestion, AcrossHistoryQuestion]) },
  answers: {
    200: { description: 'The history', schema: z.union([SeriesHistory, AcrossHistory]) },
    404: { description: 'History is off', schema: ErrorBody },
    ...errorAnswers(503),
  },
  example: {
    body: {
      serviceIdentifier: exampleService,
      property: '0x2000',
      across: 'avg',
      interval: '1h',
      from: '-1h',
    },
    answer: {
      from: 1_789_999_200_000,
      to: 1_790_002_800_000,
      interval: 3_600_000,
      aggregate: 'avg',
      across: 'avg',
      devices: 1,
      time: [1_789_999_200_000],
      value: [21.3],
    },
  },
})

const serviceIdentifiersField = z
  .union([ServiceIdentifier, z.array(ServiceIdentifier).max(seriesMax)])
  .transform((found) => (typeof found === 'string' ? [found] : found))

const HistoryExportQuery = HistoryQuery.pick({ properties: true, from: true, to: true }).extend({
  deviceIdentifier: deviceIdentifiersField,
  serviceIdentifier: serviceIdentifiersField,
  format: z.enum(['csv', 'ndjson'], 'must be csv or ndjson').default('csv'),
  interval: intervalField.optional(),
  aggregates: aggregatesField.optional(),
})
export type HistoryExportQuery = z.infer<typeof HistoryExportQuery>

export const exportHistory = defineRoute('exportHistory', {
  route: 'GET /history/export',
  summary: 'Export the history of properties as a file with a row for each point, or each span of time',
  access: { resource: 'service', action: 'read', within: 'list' },
  hasPosition: true,
  query: HistoryExportQuery,
  answers: {
    200: { description: 'The rows', contentType: 'text/csv' },
    404: {
      description: 'None of the properties exists, the caller may read none of them, or history is off',
      schema: ErrorBody,
    },
    ...errorAnswers(503),
  },
  example: {
    query: { deviceIdentifier: exampleDevice, serviceIdentifier: exampleService, format: 'csv', from: '-1h' },
  },
})

const count = z.int()

export const HistoryImport = z.object({
  rows: count,
  stored: count,
  /** Rows that were left out. */
  rejected: z.object({ unknown: count, invalid: count, old: count }),
  /** The first rejected rows, without those that are too old, which are only counted. */
  details: z.array(z.object({ line: z.int(), message: z.string() })),
})
export type HistoryImport = z.infer<typeof HistoryImport>

export const importHistory = defineRoute('importHistory', {
  route: 'POST /history/import',
  summary: 'Import values of an earlier system into the history',
  access: { resource: 'device', action: 'update', within: 'list' },
  body: { schema: z.unknown(), contentTypes: 'any', isStreamed: true },
  answers: {
    200: { description: 'The rows were stored, except those that are counted as rejected', schema: HistoryImport },
    404: { description: 'History is off', schema: ErrorBody },
    413: { description: 'The body is larger than IMAGE_BYTES_MAX', schema: ErrorBody },
    ...errorAnswers(429, 503),
  },
  example: {
    body: `deviceIdentifier,serviceIdentifier,propId,time,value\n${exampleDevice},${exampleService},0x2000,2020-01-01T00:00:00Z,21.5\n`,
    answer: { rows: 1, stored: 0, rejected: { unknown: 0, invalid: 0, old: 1 }, details: [] },
  },
})

export const compactHistory = defineRoute('compactHistory', {
  route: 'POST /history/compact',
  summary: 'Delete expired values of the history at once, and free their disk space',
  access: { resource: 'tenants', action: 'update', within: 'tenant' },
  answers: {
    204: { description: 'The deletion has begun' },
    404: { description: 'History is off', schema: ErrorBody },
    ...errorAnswers(503),
  },
})
