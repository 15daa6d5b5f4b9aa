import fc from 'fast-check'
import { Packr } from 'msgpackr'
import { describe, expect, test } from 'vitest'
import { tried } from '#test/attacks/fuzz/fuzzing'
import { edited, edits, mutated } from '#test/attacks/fuzz/mutation'
import { LinkFixture } from '#test/link/link-fixture'

/**
 * Frames of every kind, spoilt, on links of their own: nothing that a device says is a bug of ours, what it is told is a
 * message of the protocol (that the stage checks), and what another device has reported stays.
 */

const service = 'svc'
const properties = [
  { propId: 1, type: 'UINT8', value: 1 },
  { propId: 2, type: 'STRING', modifier: { isReadOnly: true } },
  { propId: 3, type: 'INT16-ARRAY', value: [1, -1] },
]
const sha256 = 'ab'.repeat(32)

/** Frames that are good, or would be at another moment. `address`: of the device that says them. */
const frames = (address: number): readonly unknown[] => [
  { type: 'HELLO', deviceIdentifier: 'A', session: 'boot-1', services: [{ serviceIdentifier: service, properties }] },
  {
    type: 'HELLO',
    deviceIdentifier: 'A',
    project: 'thermo',
    firmwares: [{ firmware: '1.4.2', hardware: 'rev-b', index: 0 }],
    autoUpdate: false,
    services: [],
  },
  {
    type: 'UPDATE',
    flakeAddress: address,
    seq: 1,
    serviceIdentifier: service,
    updates: [
      { propId: 1, value: 7 },
      { propId: 2, error: 'broken' },
    ],
    timestamp: 1_760_000_000_000,
  },
  ['U', address, 2, 0, [1, 8, 2, { e: 'broken' }, 3, [1, 2]], 1_760_000_000_000],
  ['U', address, 3, 0, [1, 9]],
  { type: 'RESULT', flakeAddress: address, id: 'x', results: [{ propId: 1, status: 'OK' }] },
  {
    type: 'FIRMWARE_STATUS',
    flakeAddress: address,
    id: 'x',
    status: 'DOWNLOADING',
    progress: 5,
    message: 'on it',
    sha256,
  },
  { type: 'BYE', flakeAddress: address },
]

const packr = new Packr({ useRecords: false })

/** What of each kind is said next; its place is in `frames`. Addresses: the device's own, somebody else's, nobody's. */
const said = fc.record({
  frame: fc
    .nat(frames(0).length - 1)
    .chain((place) => fc.constantFrom(1, 2, 4_000_000_000).chain((address) => mutated(frames(address)[place]))),
  edits: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 2, arbitrary: edits(4) }),
})
const bytes = fc.uint8Array({ maxLength: 40 })

describe.each(['json', 'msgpack'] as const)('frames in %s', (protocol) => {
  const isBinary = protocol === 'msgpack'
  const encoded = (frame: unknown) => (isBinary ? packed(frame) : Buffer.from(JSON.stringify(frame) ?? ''))

  test('spoilt in any way', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(said, { minLength: 1, maxLength: 8 }), fc.option(bytes), async (all, more) => {
        const room = await LinkFixture.open()
        const link = room.connect({ protocol })
        link.hello('A', { services: [{ serviceIdentifier: service, properties }] })
        await room.settle()
        const other = room.connect({ protocol })
        other.hello('OTHER')
        await room.settle()
        expect([link.address, other.address]).toEqual([1, 2])
        other.update(2, 1, 42)
        const pieces = all.map(({ frame, edits: edit }) => edited(encoded(frame), edit))
        for (const piece of more ? [...pieces, Buffer.from(more)] : pieces) {
          if (link.closedWith === undefined) link.raw(piece, isBinary)
        }
        await room.settle()
        expect([undefined, 4400, 1013]).toContain(link.closedWith)
        expect(room.stage.bugs).toEqual([])

        other.update(2, 2, 43)
        await room.settle()
        expect([other.closedWith, other.shortAcks.at(-1)]).toEqual([undefined, [2, 2]])
        expect(room.device('OTHER').services[0]?.stateOf(0)).toBe(43)
        const shown = shownOf(room)
        room.stage.crash()
        const again = await LinkFixture.open({ world: room.world, place: room.stage.place })
        expect(shownOf(again)).toEqual(shown)
      }),
      tried(150),
    )
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})

/** What the encoder takes for something else, by its keys, is sent as what it takes least for that: a text. */
function packed(frame: unknown): Buffer {
  try {
    return packr.pack(frame)
  } catch {
    return packr.pack(JSON.stringify(frame))
  }
}

/** What is stored of the two. */
function shownOf(room: LinkFixture): unknown {
  return ['A', 'OTHER'].map((name) => {
    const { isThere, services } = room.device(name)
    const states = services.map((each) => each.shape.properties.map((_, index) => each.stateOf(index)))
    return [isThere, services.map(({ shape }) => shape), states]
  })
}
