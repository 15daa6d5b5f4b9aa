import { deviceAddress } from '#actors/device/device'
import { serviceOf } from '#actors/device/state'
import { tenantAddress } from '#actors/tenant/commands'
import type { HistoryImport } from '#api/history'
import type { ImportedSeries } from '#history/chunk-walk'
import type { Call, Reply } from '#http/call'
import { CsvReader, type CsvRow } from '#model/csv'
import { Problem } from '#model/problem'
import { type PropertyType, type PropertyValue, propertyTypeOf, valueBytesMax } from '#model/property-type'
import { servicesOfDevicesWithin } from '#model/scope'
import { propertySchemaOf } from '#model/service-schema'
import { schemasFor } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { historyOf, propIdOf } from '#routes/history'
import { ReadSlices } from '#runtime/slices'

/** A value has at most `valueBytesMax` characters, of which CSV doubles the quotation marks; the rest is for other fields. */
const rowCharactersMax = 4 * valueBytesMax
/** Rows are stored in batches, because each write waits for the disk. */
const batchRows = 20_000
const batchCharacters = 4 * 1024 * 1024
const detailsMax = 100

/** Points may be some time in the future, because clocks differ. Contract 4.6. */
const futureMsMax = 86_400_000

/**
 * Stores the rows of a CSV file as points. The points replace reported values, so the caller needs the right to report
 * for the device: `update` on `device`, which also allows setting a new secret. Rows of other devices are refused as
 * unknown.
 */
export async function importHistory(context: RouteContext, call: Call): Promise<Reply> {
  const { upload: body, caller } = call
  if (!body) throw new Error('an import has no body stream')
  const slices = new ReadSlices(context.world, caller)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const reader = new CsvReader(rowCharactersMax)
  const imported = new Import(context, call)
  const take = async (rows: Iterable<CsvRow | undefined>) => {
    for (const row of rows) {
      if (slices.isOver) await slices.next()
      if (row) imported.add(row)
      if (imported.isBatchFull) await imported.store()
    }
  }
  await slices.next()
  for await (const piece of body) await take(reader.push(textOf(decoder, piece)))
  await take(reader.push(textOf(decoder)))
  await take(reader.end())
  body.stillPermitted()
  await imported.store()
  return { status: 200, json: imported.result() }
}

/** `piece` is undefined at the end of the file. @throws Problem `bad_request` */
function textOf(decoder: InstanceType<typeof TextDecoder>, piece?: Uint8Array): string {
  try {
    return piece ? decoder.decode(piece, { stream: true }) : decoder.decode()
  } catch {
    throw new Problem('bad_request', 'the file is not UTF-8')
  }
}

const columnNames = ['deviceIdentifier', 'serviceIdentifier', 'propId', 'name', 'time', 'value'] as const
type ColumnName = (typeof columnNames)[number]

/** A property that rows name, and its points that are not stored yet. */
interface Target {
  readonly series: ImportedSeries & { readonly times: number[]; readonly values: PropertyValue[] }
  readonly type: PropertyType
}

class Import {
  readonly #context: RouteContext
  readonly #call: Call
  readonly #now: number
  /** The place of each column; undefined until the first row. */
  #columns: Partial<Record<ColumnName, number>> | undefined
  /** Properties by the text of device, service and property; undefined if a property is unknown. */
  #targets = new Map<string, Target | undefined>()
  #batchRows = 0
  #batchCharacters = 0
  #rows = 0
  #stored = 0
  readonly #rejected = { unknown: 0, invalid: 0, old: 0 }
  readonly #details: { readonly line: number; readonly message: string }[] = []

  constructor(context: RouteContext, call: Call) {
    this.#context = context
    this.#call = call
    this.#now = context.world.now()
    historyOf(context)
  }

  get isBatchFull(): boolean {
    return this.#batchRows >= batchRows || this.#batchCharacters >= batchCharacters
  }

  /** @throws Problem `bad_request` if the first row does not have the names of the columns */
  add({ line, fields }: CsvRow): void {
    if (!this.#columns) {
      this.#columns = columnsOf(fields)
      return
    }
    this.#rows++
    const columns = this.#columns
    const count = Object.keys(columns).length
    if (!fields || fields.length !== count) {
      this.#reject(
        'invalid',
        line,
        fields ? `has ${fields.length} fields instead of ${count}` : 'has stray quotation marks',
      )
      return
    }
    const field = (name: ColumnName) => fields[columns[name] ?? -1] ?? ''
    const target = this.#targetOf(
      field('deviceIdentifier'),
      field('serviceIdentifier'),
      field('propId') || field('name'),
    )
    if (!target) {
      this.#reject('unknown', line, 'names an unknown property')
      return
    }
    const time = timeOf(field('time'))
    if (time === undefined || time > this.#now + futureMsMax) {
      const message = time === undefined ? 'must be a time in ISO 8601 with a zone, or in Unix ms' : 'is in the future'
      this.#reject('invalid', line, `time: ${message}`)
      return
    }
    const value = parsedValue(field('value'), target.type)
    if (value === undefined) {
      this.#reject('invalid', line, `value: must be ${target.type.text}`)
      return
    }
    target.series.times.push(time)
    target.series.values.push(value)
    this.#batchRows++
    this.#batchCharacters += field('value').length
  }

  async store(): Promise<void> {
    const series = [...this.#targets.values()].flatMap((target) => (target?.series.times.length ? [target.series] : []))
    const rows = this.#batchRows
    // The properties are found again for the next batch, because a device may be deleted by then.
    this.#targets = new Map()
    this.#batchRows = 0
    this.#batchCharacters = 0
    if (rows === 0) return
    const old = await historyOf(this.#context).importPoints(this.#call.caller.tenant, series)
    this.#rejected.old += old
    this.#stored += rows - old
  }

  result(): HistoryImport {
    return { rows: this.#rows, stored: this.#stored, rejected: this.#rejected, details: this.#details }
  }

  #reject(reason: 'unknown' | 'invalid', line: number, message: string): void {
    this.#rejected[reason]++
    if (this.#details.length < detailsMax) this.#details.push({ line, message })
  }

  #targetOf(device: string, service: string, property: string): Target | undefined {
    const key = `${device}\n${service}\n${property}`
    const known = this.#targets.get(key)
    if (known || this.#targets.has(key)) return known
    const target = this.#find(device, service, property)
    this.#targets.set(key, target)
    return target
  }

  #find(device: string, service: string, property: string): Target | undefined {
    const { caller } = this.#call
    const { system } = this.#context
    if (!servicesOfDevicesWithin(caller.scope, 'device', 'update')(device, service)) return undefined
    const state = system.peek(deviceAddress(caller.tenant, device))
    if (!state) return undefined
    const schema = schemasFor(caller, system.wake(tenantAddress(caller.tenant))).get(service)
    const propId = propIdOf(property, schema)
    if (propId === undefined) return undefined
    const declared = serviceOf(state, service)?.shape.properties.find((each) => each.propId === propId)?.type
    const type = declared ?? propertyTypeOf((schema && propertySchemaOf(schema, propId)?.type) ?? '')
    if (!type) return undefined
    const { flakeAddress } = state
    const series = {
      tenant: caller.tenant,
      device,
      flakeAddress,
      service,
      propId,
      type: type.name,
      times: [],
      values: [],
    }
    return { series, type }
  }
}

function columnsOf(fields: CsvRow['fields']): Partial<Record<ColumnName, number>> {
  const columns: Partial<Record<ColumnName, number>> = {}
  for (const [place, field] of (fields ?? []).entries()) {
    const name = columnNames.find((each) => each === field)
    if (!name || columns[name] !== undefined) {
      const shown = JSON.stringify(field.slice(0, 64))
      throw new Problem(
        'bad_request',
        `the first line has a column ${shown}; possible, once each: ${columnNames.join(', ')}`,
      )
    }
    columns[name] = place
  }
  const missing = (['deviceIdentifier', 'serviceIdentifier', 'time', 'value'] as const).find(
    (name) => columns[name] === undefined,
  )
  if (missing) throw new Problem('bad_request', `the first line has no column ${missing}`)
  if (columns.propId === undefined && columns.name === undefined) {
    throw new Problem('bad_request', 'the first line has no column propId, nor name')
  }
  return columns
}

const isoTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/

function timeOf(text: string): number | undefined {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  const time = isoTime.test(text) ? Date.parse(text) : Number.NaN
  return time >= 0 ? time : undefined
}

const numberText = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/

/** A value as exports write it: texts as they are, lists as JSON. */
function parsedValue(text: string, type: PropertyType): PropertyValue | undefined {
  if (type.isArray) return type.accept(jsonOf(text))
  if (type.name === 'bool')
    return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : undefined
  const byText = /^(string|binary|uuid|u?int64)$/.test(type.name)
  return type.accept(byText ? text : numberText.test(text) ? Number(text) : undefined)
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
