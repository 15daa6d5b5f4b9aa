import { Packr } from 'msgpackr'
import WebSocket from 'ws'
import { type Fixture, nextMessage } from '#bench/worst/fixture'
import { frameBinariesMax } from '#link/codec'

/** Frames of devices in both protocols, each of the maximum size. */

const frameBytesMax = 256 * 1024
/** Four of the longest lists use up the maximum number of values in a frame. */
const frameLists = 4
const unansweredMs = 200
const packr = new Packr({ useRecords: false, variableMapSize: true })
export const protocols = ['json', 'msgpack'] as const
export type Protocol = (typeof protocols)[number]

interface About {
  readonly flakeAddress: number
  readonly seq: number
  readonly device: string
}

export interface FrameInput {
  readonly name: string
  /** The device first declares 1 024 properties of this type. */
  readonly type: string
  readonly message: (items: readonly unknown[], about: About) => unknown
  readonly item: (index: number, protocol: Protocol) => unknown
  readonly itemsMax?: number
}

export const uuid = (index: number) => `5f2a7c10-0000-4b6d-9e3f-${index.toString(16).padStart(12, '0')}`
const repeated = (count: number, item: (index: number) => unknown) => Array.from({ length: count }, (_, n) => item(n))
const empty = () => ({})

/** As many values of a type as fit, as a short UPDATE. */
function values(
  name: string,
  type: string,
  value: (index: number, protocol: Protocol) => unknown,
  itemsMax = 1_024,
): FrameInput {
  return {
    name: `UPDATE, ${name}`,
    type,
    itemsMax,
    message: (items, { flakeAddress, seq }) => ['U', flakeAddress, seq, 0, items.flat()],
    item: (index, protocol) => [index, value(index, protocol)],
  }
}

/** A frame with one filled list. */
function listed(name: string, message: FrameInput['message'], item: FrameInput['item'] = empty): FrameInput {
  return { name, type: 'FLOAT64', message, item }
}

function nothingKnown(name: string, item: FrameInput['item']): FrameInput {
  return listed(`nothing known, ${name}`, (items) => items, item)
}

const helloOf = (services: unknown, device: string) => ({
  type: 'HELLO',
  deviceIdentifier: device,
  session: 's',
  services,
})

/** As many properties as fit, 1 024 to a service. `step`: the distance of ids from those of the previous HELLO. */
function properties(name: string, step: number, property: (index: number) => object = empty): FrameInput {
  const message = (items: readonly unknown[], { device }: About) => {
    const services = repeated(Math.ceil(items.length / 1_024), (service) => ({
      serviceIdentifier: uuid(service),
      properties: items.slice(service * 1_024, (service + 1) * 1_024),
    }))
    return helloOf(services, device)
  }
  const first = () => (step === 0 ? 0 : hellos++ * step)
  let from = 0
  const item = (index: number) => {
    if (index === 0) from = first()
    return { propId: (index % 1_024) + from, type: 'INT8', ...property(index) }
  }
  return { name: `HELLO, ${name}`, type: 'INT8', itemsMax: 65_536, message, item }
}

let hellos = 1
const result = (results: unknown, { flakeAddress }: About) => ({ type: 'RESULT', flakeAddress, id: 'x', results })

export const frames: readonly FrameInput[] = [
  properties('most properties, the same each time', 0),
  properties('most properties, new ids', 2_000),
  properties('most properties, with values', 2_000, (index) => ({ type: 'UUID', value: uuid(index) })),
  listed('HELLO, services of empty maps', (items, { device }) => helloOf(items, device)),
  listed('HELLO, properties of empty maps', (items, { device }) =>
    helloOf([{ serviceIdentifier: uuid(0), properties: items }], device),
  ),
  listed('HELLO, firmwares of empty maps', (items, { device }) => ({ ...helloOf([], device), firmwares: items })),
  values('FLOAT64', 'FLOAT64', Math.random),
  values('texts of three bytes a character', 'STRING', () => '€'.repeat(80)),
  values('texts of control characters', 'STRING', (_, protocol) =>
    '\u0001'.repeat(protocol === 'json' ? 8_000 : 60_000),
  ),
  values('errors', 'STRING', () => ({ e: 'é'.repeat(120) })),
  values('lists of UINT8', 'UINT8-ARRAY', () => repeated(32_000, (index) => index % 10), frameLists),
  values('lists of UUID', 'UUID-ARRAY', () => repeated(1_600, (index) => uuid(index).toUpperCase())),
  values('lists of INT64 as texts', 'INT64-ARRAY', () => repeated(2_800, () => '-9223372036854775808')),
  values('lists of FLOAT64', 'FLOAT64-ARRAY', () => repeated(3_000, Math.random)),
  values('lists of empty texts', 'STRING-ARRAY', () => repeated(21_000, () => ''), 6),
  values('lists of one letter', 'STRING-ARRAY', () => repeated(16_000, () => 'x'), 8),
  values('lists of INT64 as short texts', 'INT64-ARRAY', () => repeated(32_000, () => '1'), frameLists),
  values('bytes', 'BINARY', (index, protocol) => {
    const bytes = Buffer.alloc(45_000, index)
    return protocol === 'json' ? bytes.toString('base64') : bytes
  }),
  listed('UPDATE, empty maps', (updates, { flakeAddress, seq }) => ({
    ...{ type: 'UPDATE', flakeAddress, seq, serviceIdentifier: uuid(0), updates },
  })),
  listed(
    'UPDATE, a list of lists',
    (items, { flakeAddress, seq }) => ['U', flakeAddress, seq, 0, [1, items]],
    () => [[[[]]]],
  ),
  {
    ...listed('RESULT, results', result, (propId) => ({ propId, status: 'REJECTED', message: 'm'.repeat(200) })),
    itemsMax: 1_024,
  },
  listed('RESULT, empty maps', result),
  listed(
    'FIRMWARE_STATUS, a long message',
    (items, { flakeAddress }) => ({
      ...{ type: 'FIRMWARE_STATUS', flakeAddress, id: 'x', status: 'STARTED', message: items.join('') },
    }),
    () => 'é',
  ),
  listed(
    'BYE, unknown fields',
    (items) => ({ type: 'BYE', flakeAddress: 1_000_000, ...Object.fromEntries(items as [string, unknown][]) }),
    (index) => [index.toString(36), 0],
  ),
  nothingKnown('empty lists', () => []),
  nothingKnown('short texts', (index) => index.toString(36)),
  nothingKnown('texts of a lone surrogate', () => '\ud800'),
  {
    ...nothingKnown('empty binary values', (_, protocol) => (protocol === 'json' ? '' : Buffer.alloc(0))),
    itemsMax: frameBinariesMax,
  },
  nothingKnown('maps of one key', (index) => ({ [index.toString(36)]: 0 })),
]

function encode(protocol: Protocol, message: unknown): string | Uint8Array {
  return protocol === 'json' ? JSON.stringify(message) : packr.pack(message)
}

/** By input and protocol, how many items fit into a frame. */
const counts = new Map<string, number>()

/** A frame with as many items as fit. */
function filled({ name, message, item, itemsMax = frameBytesMax }: FrameInput, protocol: Protocol, about: About) {
  const made = (count: number) =>
    encode(
      protocol,
      message(
        repeated(count, (index) => item(index, protocol)),
        about,
      ),
    )
  const key = `${protocol} ${name}`
  let count = counts.get(key) ?? Math.min(itemsMax, 1_000)
  for (let tries = 0; tries < 6 && !counts.has(key); tries++) {
    const bytes = Buffer.byteLength(made(count) as string)
    if (bytes <= frameBytesMax && (count === itemsMax || bytes > frameBytesMax * 0.95)) counts.set(key, count)
    else count = Math.min(itemsMax, Math.max(1, Math.floor((count * frameBytesMax * 0.98) / bytes)))
  }
  counts.set(key, count)
  return made(count)
}

/**
 * Sends full frames of an input, one after the other, from a device with its own link. After the link was closed, a new
 * device opens another.
 */
export function frameSender(fixture: Fixture, input: FrameInput, protocol: Protocol, prefix: string) {
  let socket: WebSocket | undefined
  let about: About = { flakeAddress: 0, seq: 0, device: '' }
  let opened = 0
  const open = async () => {
    const device = `${prefix}-${opened++}`
    const link = await fixture.open('/link', `link.v1.${protocol}`, fixture.link)
    const answered = nextMessage(link)
    const declared = repeated(1_024, (propId) => ({ propId, type: input.type }))
    link.send(encode(protocol, helloOf([{ serviceIdentifier: uuid(0), properties: declared }], device)))
    const bytes = Buffer.from((await answered) ?? '', 'latin1')
    const welcome = protocol === 'json' ? JSON.parse(bytes.toString()) : packr.unpack(bytes)
    about = { flakeAddress: welcome.flakeAddress, seq: 0, device }
    return link
  }
  return {
    async prepare() {
      const link = socket?.readyState === WebSocket.OPEN ? socket : await open()
      socket = link
      about = { ...about, seq: about.seq + 1 }
      const bytes = filled(input, protocol, about)
      return async () => {
        const answered = nextMessage(link)
        link.send(bytes)
        // The server does not answer every frame.
        await Promise.race([answered, new Promise((resolve) => setTimeout(resolve, unansweredMs))])
      }
    },
    close: () => socket?.close(),
  }
}
