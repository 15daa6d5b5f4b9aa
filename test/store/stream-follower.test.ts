import { beforeEach, describe, expect, test } from 'vitest'
import type { Applied, Checkpoint, Projection, StreamChunk } from '#runtime/projection'
import { StorageFailure } from '#runtime/storage'
import { StreamFollower } from '#store/stream-follower'
import { during, openRuntime, type RuntimeFixture } from '#test/runtime/runtime-fixture'
import { bookAddress } from '#test/runtime/tally-actors'

const tenant = 'default'
const never = Number.MAX_SAFE_INTEGER

/** The data that survives the process: a checkpoint after each chunk. */
interface Stored {
  checkpoints: Checkpoint[]
  offsets: number[]
}

function newStored(): Stored {
  return { checkpoints: [{ epoch: '', offsets: new Map() }], offsets: [] }
}

/** Stores the offsets that it got. */
class Recorder implements Projection {
  readonly name = 'recorder'
  readonly calls: string[] = []
  readonly #stored: Stored
  #epoch = ''
  confirmAfter = Number.POSITIVE_INFINITY
  failNext = false
  /** The chunk that begins at this offset is never applied. */
  unreadable: number | undefined

  constructor(stored: Stored) {
    this.#stored = stored
  }

  async open() {
    return this.#stored.checkpoints.toReversed()
  }

  async resume(index: number | undefined, epoch: string) {
    this.#epoch = epoch
    this.calls.push(`resume ${index}`)
    if (index === undefined) {
      this.#stored.checkpoints = []
      this.#stored.offsets = []
      return
    }
    const { checkpoints } = this.#stored
    this.#stored.checkpoints = checkpoints.slice(0, checkpoints.length - index)
    const last = this.#stored.checkpoints.at(-1)?.offsets.get(tenant) ?? 0
    this.#stored.offsets = this.#stored.offsets.filter((offset) => offset <= last)
  }

  async apply(chunks: readonly StreamChunk[]): Promise<Applied> {
    if (this.failNext) {
      this.failNext = false
      throw new StorageFailure('full', 'the disk is full')
    }
    for (const { firstOffset, count } of chunks) {
      if (this.unreadable === firstOffset) throw new TypeError('a mistake in the code')
      for (let offset = firstOffset; offset < firstOffset + count; offset++) {
        if (offset > (this.#stored.offsets.at(-1) ?? 0)) this.#stored.offsets.push(offset)
      }
      this.#stored.checkpoints.push({ epoch: this.#epoch, offsets: new Map([[tenant, firstOffset + count - 1]]) })
    }
    const stored = this.#stored.checkpoints.length
    return { stored, isConfirmDue: stored >= this.confirmAfter }
  }

  async confirm(stored: number) {
    this.calls.push(`confirm ${stored}`)
    this.confirmAfter = Number.POSITIVE_INFINITY
  }

  async skip(_: string, offset: number) {
    this.calls.push(`skip to ${offset}`)
  }

  async removeTenant(_: string, offset: number) {
    this.calls.push(`remove up to ${offset}`)
  }

  async close() {
    this.calls.push('close')
  }
}

async function follow(fixture: RuntimeFixture, stored: Stored) {
  const recorder = new Recorder(stored)
  const failures: string[] = []
  const follower = new StreamFollower({
    world: fixture.world,
    journal: fixture.journal,
    projection: recorder,
    failed: (error) => failures.push((error as Error).message),
    begunAnew: () => failures.push('begun anew'),
  })
  void follower.open()
  await fixture.world.advance(1)
  return { recorder, follower, failures }
}

async function write(fixture: RuntimeFixture, commits: number): Promise<void> {
  for (let commit = 0; commit < commits; commit++) {
    fixture.send(bookAddress('K'), { type: 'add', add: [1, 2, 3, 4, 5] })
    await fixture.settle()
  }
}

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1)

let fixture: RuntimeFixture
beforeEach(async () => {
  fixture = await openRuntime()
})

describe('a projection', () => {
  test('gets every entry once and in order, also those from before its start and after a restart', async () => {
    const stored: Stored = { checkpoints: [], offsets: [] }
    await write(fixture, 3)
    const { follower } = await follow(fixture, stored)
    await write(fixture, 3)
    const reached = new Promise<void>((resolve) => follower.whenReached(tenant, 30, resolve))
    expect(follower.lag.entries).toBeGreaterThan(0)
    await fixture.world.advance(200)
    await reached
    expect(stored.offsets).toEqual(upTo(30))
    expect(follower.lag).toEqual({ entries: 0, ms: 0 })
    await write(fixture, 2)
    fixture.crash()
    const again = await fixture.restart()
    const { recorder } = await follow(again, stored)
    await write(again, 1)
    await again.world.advance(200)
    expect(recorder.calls).toEqual(['resume 0'])
    expect(stored.offsets).toEqual(upTo(45))
  })

  test('continues from an older checkpoint when the machine died and the end of the stream is lost', async () => {
    const stored = newStored()
    const { recorder } = await follow(fixture, stored)
    await write(fixture, 2)
    recorder.confirmAfter = 1
    await fixture.world.advance(200)
    await write(fixture, 3)
    await fixture.world.advance(200)
    expect(stored.offsets).toEqual(upTo(25))
    fixture.backend.losePower()
    fixture.world.kill()
    const again = await fixture.restart()
    const { last } = again.journal.stream(tenant)
    // Everything confirmed is there.
    expect(last).toBeGreaterThanOrEqual(10)
    expect(last).toBeLessThan(25)
    const next = await follow(again, stored)
    expect(next.failures).toEqual([])
    expect(stored.offsets).toEqual(upTo(last))
    await write(again, 1)
    await again.world.advance(200)
    expect(stored.offsets).toEqual(upTo(last + 5))
  })

  test('starts empty when the store has none of its checkpoints', async () => {
    await write(fixture, 1)
    const stored: Stored = { checkpoints: [{ epoch: 'another', offsets: new Map([[tenant, 3]]) }], offsets: [1, 2, 3] }
    const { failures } = await follow(fixture, stored)
    await fixture.world.advance(200)
    expect(failures).toEqual(['begun anew'])
    expect(stored.offsets).toEqual(upTo(5))
  })

  test('is opened again after a failure', async () => {
    const stored = newStored()
    const { recorder, failures } = await follow(fixture, stored)
    recorder.failNext = true
    await write(fixture, 1)
    await fixture.world.advance(6_000)
    expect(failures).toEqual(['the disk is full'])
    expect(recorder.calls).toEqual(['resume 0', 'resume 0'])
    expect(stored.offsets).toEqual(upTo(5))
  })

  test('leaves out a chunk that it cannot read', async () => {
    const stored = newStored()
    const { recorder } = await follow(fixture, stored)
    recorder.unreadable = 6
    await write(fixture, 4)
    await fixture.world.advance(20_000)
    expect(recorder.calls).toEqual(['resume 0', 'resume 0', 'resume 0', 'skip to 10'])
    expect(stored.offsets).toEqual([...upTo(5), ...upTo(20).slice(10)])
  })

  test('skips entries that were deleted', async () => {
    const retention = { bytesMax: 500, ageMsMax: never }
    const fixture = await openRuntime({ retention })
    await write(fixture, 50)
    await fixture.world.advance(5_000)
    const { retainedFrom, last } = fixture.journal.stream(tenant)
    expect(retainedFrom).toBeGreaterThan(1)
    const stored = newStored()
    const { recorder, follower } = await follow(fixture, stored)
    await fixture.world.advance(200)
    expect(recorder.calls).toEqual(['resume 0', `skip to ${retainedFrom - 1}`])
    expect(stored.offsets).toEqual(upTo(last).slice(retainedFrom - 1))
    await during(fixture.world, follower.close())
    expect(recorder.calls.slice(2)).toEqual(['close'])
  })

  test.each(['while it follows', 'before it follows'])('removes a tenant that was deleted %s', async (when) => {
    const stored = newStored()
    const first = await follow(fixture, stored)
    await write(fixture, 1)
    await fixture.world.advance(200)
    const isWatched = when === 'while it follows'
    if (!isWatched) await during(fixture.world, first.follower.close())
    const head = fixture.system.registry.head(tenant)
    fixture.system.forgetTenant(tenant)
    expect(fixture.journal.dropStream(tenant)).toBe(true)
    head.skipOffset()
    fixture.system.gate.touch(head)
    await fixture.settle()
    // The next tenant of this name.
    await write(fixture, 1)
    await fixture.world.advance(200)
    if (!isWatched) fixture.crash()
    const again = isWatched ? fixture : await fixture.restart()
    const { recorder } = isWatched ? first : await follow(again, stored)
    await again.world.advance(200)
    expect(recorder.calls).toEqual(['resume 0', 'remove up to 6'])
    expect(stored.offsets).toEqual([...upTo(5), ...upTo(11).slice(6)])
  })

  test('ends the wait for an offset that the stream does not reach', async () => {
    const { follower } = await follow(fixture, newStored())
    const reached: string[] = []
    const end = follower.whenReached(tenant, 5, () => reached.push('ended'))
    follower.whenReached(tenant, 5, () => reached.push('waiting'))
    end()
    await write(fixture, 1)
    await fixture.world.advance(200)
    follower.whenReached(tenant, 5, () => reached.push('late'))
    expect(reached).toEqual(['waiting', 'late'])
  })

  test('keeps the entries that it still needs in the stream, up to twice the size limit of the stream', async () => {
    const retention = { bytesMax: 1_000, ageMsMax: 10_000 }
    const fixture = await openRuntime({ retention, neededFrom: () => 1 })
    await write(fixture, 10)
    await fixture.world.advance(20_000)
    expect(fixture.journal.stream(tenant).retainedFrom).toBe(1)
    await write(fixture, 60)
    await fixture.world.advance(20_000)
    const { retainedFrom, bytes } = fixture.journal.stream(tenant)
    expect(retainedFrom).toBeGreaterThan(1)
    expect(bytes).toBeLessThanOrEqual(2_000)
    expect(bytes).toBeGreaterThan(1_500)
  })
})
