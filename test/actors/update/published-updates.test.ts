import { expect, test } from 'vitest'
import { publishedStateAt } from '#actors/update/state'
import type { UpdateChanged } from '#model/entry'
import { ActingUpdate, begin, foundOf } from '#test/actors/update/acting-update'

/** The last event of each firmware must equal its stored state. §1.7, contract 6. */

const firmwares = [0, 1, 7].map((index) => ({ firmware: '1.0.0', index }))

/** Runs commands, and compares the stored state with the state that a subscriber has from the events. */
class Follower {
  readonly acting = new ActingUpdate()
  readonly known = new Map<number, object>()

  run(command: Parameters<ActingUpdate['act']>[0]): this {
    const decision = this.acting.act(command)
    const events = decision.type === 'record' ? decision.events : []
    for (const { kind: _, device: __, ...update } of events as readonly UpdateChanged[])
      this.known.set(update.index, update)
    this.acting.at += 60_000
    this.expectAgreement()
    return this
  }

  reports(status: 'STARTED' | 'NOT_OK' | 'DOWNLOADING' | 'INSTALLED', progress?: number): this {
    const { id } = this.acting.stored.context
    return this.run({ type: 'reported', id, status, ...(progress !== undefined && { progress }) })
  }

  reconnects(index: number, firmware: string): this {
    return this.run({ type: 'reconnected', session: 'anew', firmwares: [{ firmware, index }] })
  }

  expectAgreement(): void {
    for (const { index } of firmwares) {
      expect(publishedStateAt(this.acting.stored, index), `index ${index}`).toEqual(this.known.get(index))
    }
  }
}

test('firmwares are updated one after the other, and each has its last published state', () => {
  const follower = new Follower()
    .run(begin({ firmwares }))
    .run({ type: 'found', id: 'J', ...foundOf({}, [1, 7]) })
    .reports('STARTED')
    .reports('INSTALLED')
    .reconnects(0, '2.0.0')
    .run(begin({ id: 'K', firmwares, found: foundOf({ index: 7 }) }))
    .reports('DOWNLOADING', 40)
    .reports('NOT_OK')
    .run(begin({ id: 'L', firmwares, found: foundOf({ index: 1 }) }))
  const statuses = [...follower.known].map(([index, update]) => `${index} ${(update as UpdateChanged).status}`)
  expect(statuses).toEqual(['0 done', '7 failed', '1 offering'])
  follower.run({ type: 'lost', id: 'L' }).run(begin({ id: 'M', firmwares, found: foundOf() }))
  expect(follower.known.get(0)).toMatchObject({ status: 'offering' })
})

test('a firmware without an update is published as idle, and does not stay in CHECKING', () => {
  const follower = new Follower().run(begin({ firmwares })).run({ type: 'found', id: 'J', ...foundOf({ index: 7 }) })
  expect(follower.known.get(0)).toMatchObject({ status: 'idle', message: 'NO_UPDATE' })
  expect(follower.known.get(1)).toBeUndefined()
  expect(follower.known.get(7)).toMatchObject({ status: 'offering', firmware: '2.0.0' })
})
