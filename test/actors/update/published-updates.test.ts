import { expect, test } from 'vitest'
import { publishedStateAt } from '#actors/update/state'
import type { UpdateChanged } from '#model/entry'
import { ActingUpdate, begin, foundOf } from '#test/actors/update/acting-update'

/** The events of each firmware add up to its stored state. §1.7, contract 6. */

const firmwares = [
  { firmware: '1.0.0', index: 0 },
  { firmware: '1.0.0', index: 1 },
  { firmware: '1.0.0', index: 7 },
]

/** The state as a subscriber computes it from events. */
class Follower {
  readonly acting = new ActingUpdate()
  readonly known = new Map<number, object>()

  does(command: Parameters<ActingUpdate['act']>[0]): this {
    const decision = this.acting.act(command)
    const events = decision.type === 'record' ? decision.events : []
    for (const { kind: _, device: __, ...update } of events as readonly UpdateChanged[])
      this.known.set(update.index, update)
    this.acting.at += 60_000
    this.agrees()
    return this
  }

  says(status: 'STARTED' | 'NOT_OK' | 'DOWNLOADING' | 'INSTALLED', progress?: number): this {
    const { id } = this.acting.stands.context
    return this.does({ type: 'reported', id, status, ...(progress !== undefined && { progress }) })
  }

  back(index: number, firmware: string): this {
    return this.does({ type: 'reconnected', session: 'anew', firmwares: [{ firmware, index }] })
  }

  agrees(): void {
    for (const { index } of firmwares) {
      expect(publishedStateAt(this.acting.stands, index), `index ${index}`).toEqual(this.known.get(index))
    }
  }
}

test('firmwares are updated one after the other, and each has its last published state', () => {
  const follower = new Follower()
    .does(begin({ firmwares }))
    .does({ type: 'found', id: 'J', ...foundOf({}, [1, 7]) })
    .says('STARTED')
    .says('INSTALLED')
    .back(0, '2.0.0')
    .does(begin({ seed: 'K', firmwares, found: foundOf({ index: 7 }) }))
    .says('DOWNLOADING', 40)
    .says('NOT_OK')
    .does(begin({ seed: 'L', firmwares, found: foundOf({ index: 1 }) }))
  expect(
    [...follower.known].map(([index, updateEventsOf]) => [index, (updateEventsOf as UpdateChanged).status]),
  ).toEqual([
    [0, 'done'],
    [7, 'failed'],
    [1, 'offering'],
  ])
  follower.does({ type: 'lost', id: 'L' }).does(begin({ seed: 'M', firmwares, found: foundOf() }))
  expect(follower.known.get(0)).toMatchObject({ status: 'offering' })
})

test('a firmware that is skipped for another one is published as idle, and does not stay in CHECKING', () => {
  const follower = new Follower().does(begin({ firmwares })).does({ type: 'found', id: 'J', ...foundOf({ index: 7 }) })
  expect(follower.known.get(0)).toMatchObject({ status: 'idle', message: 'NO_UPDATE' })
  expect(follower.known.get(1)).toBeUndefined()
  expect(follower.known.get(7)).toMatchObject({ status: 'offering', firmware: '2.0.0' })
})
