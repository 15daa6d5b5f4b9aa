import fc from 'fast-check'
import { Packr } from 'msgpackr'
import { describe, expect, test } from 'vitest'
import { fuzzRuns } from '#test/attacks/fuzz/fuzz-runs'
import { edited, edits, mutated } from '#test/attacks/fuzz/mutation'
import { LinkFixture } from '#test/link/link-fixture'

/**
 * Sends mutated frames of every type. They must cause no bug and must not change the values of another device. The
 * fixture checks that the answers are messages of the protocol.
 */

const service = 'svc'
const properties = [
  { propId: 1, type: 'UINT8', value: 1 },
  { propId: 2, type: 'STRING', modifier: { isReadOnly: true } },
  { propId: 3, type: 'INT16-ARRAY', value: [1, -1] },
]
const sha256 = 'ab'.repeat(32)

/** Frames, each of which is valid in some state of the connection. */
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

/** A mutated frame with the address of its device, of another device, or of no device. */
const mutatedFrame = fc.record({
  frame: fc
    .nat(frames(0).length - 1)
    .chain((place) => fc.constantFrom(1, 2, 4_000_000_000).chain((address) => mutated(frames(address)[place]))),
  edits: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 2, arbitrary: edits(4) }),
})
const bytes = fc.uint8Array({ maxLength: 40 })

describe.each(['json', 'msgpack'] as const)('mutated frames in %s', (protocol) => {
  const isBinary = protocol === 'msgpack'
  const encoded = (frame: unknown) => (isBinary ? packed(frame) : Buffer.from(JSON.stringify(frame) ?? ''))

  test('cause no bug, and do not change another device', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(mutatedFrame, { minLength: 1, maxLength: 8 }), fc.option(bytes), async (all, more) => {
        const fixture = await LinkFixture.open()
        const link = fixture.connect({ protocol })
        link.hello('A', { services: [{ serviceIdentifier: service, properties }] })
        await fixture.settle()
        const other = fixture.connect({ protocol })
        other.hello('OTHER')
        await fixture.settle()
        expect([link.address, other.address]).toEqual([1, 2])
        other.update(2, 1, 42)
        const pieces = all.map(({ frame, edits: edit }) => edited(encoded(frame), edit))
        for (const piece of more ? [...pieces, Buffer.from(more)] : pieces) {
          if (link.closedWith === undefined) link.raw(piece, isBinary)
        }
        await fixture.settle()
        expect([undefined, 4400, 1013]).toContain(link.closedWith)
        expect(fixture.runtime.bugs).toEqual([])

        other.update(2, 2, 43)
        await fixture.settle()
        expect([other.closedWith, other.shortAcks.at(-1)]).toEqual([undefined, [2, 2]])
        expect(fixture.device('OTHER').services[0]?.stateOf(0)).toBe(43)
        const shown = shownOf(fixture)
        fixture.runtime.crash()
        const again = await LinkFixture.open({ world: fixture.world, backend: fixture.runtime.backend })
        expect(shownOf(again)).toEqual(shown)
      }),
      fuzzRuns(50),
    )
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})

/** Packs a frame. If the encoder cannot pack its values, the result is a text. */
function packed(frame: unknown): Buffer {
  try {
    return packr.pack(frame)
  } catch {
    return packr.pack(JSON.stringify(frame))
  }
}

/** The stored state of both devices. */
function shownOf(fixture: LinkFixture): unknown {
  return ['A', 'OTHER'].map((name) => {
    const { exists, services } = fixture.device(name)
    const states = services.map((each) => each.shape.properties.map((_, index) => each.stateOf(index)))
    return [exists, services.map(({ shape }) => shape), states]
  })
}
