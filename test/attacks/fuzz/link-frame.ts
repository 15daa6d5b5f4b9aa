import { isDeepStrictEqual } from 'node:util'
import { Packr } from 'msgpackr'
import type { LinkCodec } from '#link/codec'
import { jsonCodec } from '#link/codecs'
import { declaredServices } from '#link/declaration'
import { type DeviceFrame, frameAboutOf, messageOf, readItems, type UpdateFrame } from '#link/device-frame'
import { shapeOf as shapeOfUpdate } from '#link/link'
import { msgpackCodec } from '#link/msgpack-codec'
import { type Items, isPropertyError } from '#model/entry'
import { ErrorMessage, LongDeviceMessage } from '#model/link-message'
import { Problem } from '#model/problem'
import { propertyTypes } from '#model/property-type'
import { type Shape, shapeOf } from '#model/shape'
import { expectThat, refusing, seedsOf, type Target, type Verdict } from '#test/attacks/fuzz/target'

/** A device with one property of each type, from 1, in its one service. */
const properties = [...propertyTypes.values()].map((type, place) => ({ propId: place + 1, type, modifier: 0 }))
export const declared: Shape = shapeOf('declared', 'all-types', properties)

/** Valid frames of every type from that device with address 1. */
const goodFrames: readonly unknown[] = [
  {
    type: 'HELLO',
    deviceIdentifier: 'A',
    session: 'boot-1',
    project: 'thermo',
    firmwares: [{ firmware: '1.4.2', hardware: 'rev-b', index: 0 }],
    autoUpdate: false,
    services: [
      {
        serviceIdentifier: 'svc',
        properties: [
          { propId: 1, type: 'UINT8', value: 1 },
          { propId: 2, type: 'STRING', modifier: { isReadOnly: true } },
          { propId: 3, type: 'INT16-ARRAY', value: [1, -1] },
        ],
      },
    ],
  },
  {
    type: 'UPDATE',
    flakeAddress: 1,
    seq: 1,
    serviceIdentifier: 'all-types',
    updates: [
      { propId: 1, value: 7 },
      { propId: 2, error: 'broken' },
    ],
    timestamp: 1_760_000_000_000,
  },
  ['U', 1, 2, 0, [1, 8, 3, { e: 'broken' }], 1_760_000_000_000],
  ['U', 1, 3, 0, properties.flatMap(({ propId, type }) => (type.isArray ? [propId, []] : []))],
  { type: 'RESULT', flakeAddress: 1, id: 'x', results: [{ propId: 1, status: 'OK' }] },
  { type: 'FIRMWARE_STATUS', flakeAddress: 1, id: 'x', status: 'DOWNLOADING', progress: 5, message: 'on it' },
  { type: 'BYE', flakeAddress: 1 },
]

const packr = new Packr({ useRecords: false })

export const linkJson: Target = {
  seeds: seedsOf(...goodFrames.map((frame) => JSON.stringify(frame))),
  fuzz: (bytes) => readFrame(jsonCodec, false, bytes),
}

export const linkMsgpack: Target = {
  seeds: goodFrames.map((frame): Uint8Array => packr.pack(frame)),
  fuzz: (bytes) => readFrame(msgpackCodec, true, bytes),
}

/** Reads a frame like a device connection, up to the answer. Contract 7. */
function readFrame(codec: LinkCodec, isBinary: boolean, bytes: Uint8Array): Verdict {
  let frame: DeviceFrame
  try {
    frame = codec.decode(bytes, isBinary)
  } catch (error) {
    expectThat(error instanceof Problem, 'an invalid frame is refused with a reason')
    return 'refused'
  }
  if (frame.kind === 'update') return updated(frame)
  if (frame.kind === 'bad_update') return refused(frame.problem.message, frame.message)
  const parsed = LongDeviceMessage.safeParse(frame.message)
  if (!parsed.success) return refused(messageOf(parsed.error), frame.message)
  const message = parsed.data
  if (message.type !== 'HELLO') return 'taken'
  return refusing(() => {
    const services = declaredServices(message.services, (name, all) => shapeOf('declared', name, all))
    for (const { shape, items } of services) expectNormalized(shape, items)
  }, 'value_bad')
}

function updated(read: UpdateFrame): Verdict {
  const shape = shapeOfUpdate({ services: [declared] }, read)
  if (!shape) return 'refused'
  const items = readItems(read, shape)
  if (items instanceof Problem) return refused(items.message, read)
  expectNormalized(shape, items)
  return 'taken'
}

/** Any refusal must be a valid ERROR message. */
function refused(message: string, frame: unknown): Verdict {
  const error = { type: 'ERROR', code: 'BAD_MESSAGE', message, ...frameAboutOf(frame) }
  expectThat(message !== '' && ErrorMessage.safeParse(error).success, 'a refusal is an ERROR')
  return 'refused'
}

/** Expects normalized values, which JSON does not change. */
function expectNormalized(shape: Shape, items: Items): void {
  for (let at = 0; at < items.length; at += 2) {
    const property = shape.properties[items[at] as number]
    const value = items[at + 1]
    expectThat(property !== undefined, 'a value belongs to a property')
    if (value === undefined || value === null || isPropertyError(value)) continue
    expectThat(isDeepStrictEqual(property?.type.accept(value), value), 'a normalized value is accepted unchanged')
    expectThat(isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value), 'a value survives JSON')
  }
}
