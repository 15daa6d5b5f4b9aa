import { array, assert, asyncProperty, constantFrom } from 'fast-check'
import { expect, test } from 'vitest'
import { type PendingRequest, PendingRequests } from '#http/pending-requests'
import { ManualWorld } from '#test/runtime/manual-world'

const deadlineMs = 1000

class Waiter implements PendingRequest {
  hasBegun = false
  expiredAt: number | undefined
  waitsSince: number
  readonly #world: ManualWorld
  readonly #pending: PendingRequests

  constructor(world: ManualWorld, pending: PendingRequests) {
    this.#world = world
    this.#pending = pending
    this.waitsSince = world.monotonic()
    pending.add(this)
  }

  expire(): void {
    this.expiredAt = this.#world.monotonic()
    this.#pending.remove(this)
  }
}

test('each expires its deadline after it came or was renewed last, whatever the others do', async () => {
  const steps = array(constantFrom('come', 'renew first', 'renew last', 'begin', 'remove', 'wait', 'wait long'), {
    maxLength: 40,
  })
  await assert(
    asyncProperty(steps, async (chosen) => {
      const world = new ManualWorld()
      const pending = new PendingRequests(world, deadlineMs)
      const waiters: { waiter: Waiter; dueAt: number | undefined }[] = []
      const alive = () => waiters.filter(({ waiter }) => waiter.expiredAt === undefined)
      const due = () => world.monotonic() + deadlineMs
      for (const step of chosen) {
        if (step === 'come') waiters.push({ waiter: new Waiter(world, pending), dueAt: due() })
        else if (step === 'wait' || step === 'wait long') await world.advance(step === 'wait' ? 130 : 700)
        else {
          const one = step === 'renew first' ? alive()[0] : alive().at(-1)
          if (!one) continue
          if (step === 'begin') one.waiter.hasBegun = true
          else if (step === 'remove') pending.remove(one.waiter)
          else pending.renew(one.waiter)
          // What was taken out, or has begun, is never due; what was taken out is not put in again by being renewed.
          if (step === 'begin' || step === 'remove') one.dueAt = undefined
          else if (one.dueAt !== undefined) one.dueAt = due()
        }
      }
      await world.advance(2 * deadlineMs)
      expect(waiters.map(({ waiter }) => waiter.expiredAt)).toEqual(waiters.map(({ dueAt }) => dueAt))
    }),
  )
})
