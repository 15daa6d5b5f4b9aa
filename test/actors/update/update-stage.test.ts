import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ProjectCommands } from '#actors/project/state'
import { isRunning } from '#actors/update/machine'
import type { UpdateCommand } from '#actors/update/state'
import { waitingAttempts } from '#actors/update/transition'
import { releaseName } from '#model/release'
import type { OfferedFirmware } from '#model/update-offer'
import type { Decision } from '#runtime/actor'
import { ActingUpdate, begin, foundOf } from '#test/actors/update/acting-update'
import { commandOf } from '#test/kit/command-arbitrary'
import { forAll } from '#test/kit/for-all'

/** The counts that projects compute from their notices. */
class Tally {
  readonly counts = new Map<string, number>()

  add(decision: Decision<never>): void {
    if (decision.type !== 'record') return
    for (const { to, command } of decision.tells ?? []) {
      const { release, rollout, from, to: stage } = command as ProjectCommands['job_moved']
      for (const [at, by] of [
        [from, -1],
        [stage, 1],
      ] as const) {
        if (at === null) continue
        const key = `${to.kind}/${to.id} ${releaseName(release)} ${rollout} ${at}`
        const count = (this.counts.get(key) ?? 0) + by
        if (count === 0) this.counts.delete(key)
        else this.counts.set(key, count)
      }
    }
  }
}

const offers: readonly Partial<OfferedFirmware>[] = [
  {},
  { firmware: '2.1.0' },
  { hardware: 'rev-B' },
  { rollout: { id: 'R', maxAttempts: 100 } },
  { rollout: { id: 'Q', maxAttempts: 100 } },
  { index: 1 },
  { url: 'https://images.example/2.0.0' },
]
const id = fc.constantFrom('J', 'K')
const command: fc.Arbitrary<UpdateCommand> = fc.oneof(
  fc
    .record({
      by: fc.constantFrom('post', 'connect', 'hook'),
      project: fc.constantFrom('p', 'q'),
      id,
      found: fc.option(fc.constantFrom(...offers).map((offer) => foundOf(offer))),
    })
    .map((more) => begin(more as never)),
  fc
    .record({ id, offer: fc.constantFrom(...offers) })
    .map(({ id, offer }) => ({ type: 'found' as const, id, ...foundOf(offer) })),
  commandOf('not_found', { id, why: fc.constantFrom('none', 'failed') }),
  commandOf('reported', {
    id,
    status: fc.constantFrom('STARTED', 'NOT_OK', 'DOWNLOADING', 'INSTALLING', 'INSTALLED', 'FAILED'),
  }),
  commandOf('lost', { id }),
  commandOf('reconnected', {
    session: fc.constantFrom('s', 't'),
    firmwares: fc.constantFrom('1.0.0', '1.5.0', '2.0.0').map((firmware) => [{ firmware, index: 0 }]),
  }),
  commandOf('reminder_due', { dueAt: fc.constant(0) }),
  commandOf('forget'),
)

test('the counts from the notices to projects equal the state of each update', () => {
  const step = fc.record({ command, laterMs: fc.constantFrom(0, 1_000, 11_000, 3_600_000) })
  forAll([fc.array(step, { maxLength: 40 })], 100, (steps) => {
    const acting = new ActingUpdate()
    const tally = new Tally()
    for (const { command, laterMs } of steps) {
      acting.at += laterMs
      if (command.type === 'reminder_due') acting.reminder = null
      tally.add(acting.act(command) as Decision<never>)
      const { stored } = acting.state
      const { counted = null } = stored ?? {}
      const expected = counted
        ? [[`project/${counted.project} ${releaseName(counted.release)} ${counted.rollout} ${counted.stage}`, 1]]
        : []
      expect([...tally.counts]).toEqual(expected)
      if (!stored) continue
      // An active update always has a deadline, and an offered image is always in use.
      const { state, context, attempts } = stored
      const wakesAt = isRunning(state) ? context.deadline : (waitingAttempts(attempts)[0]?.nextAt ?? null)
      // A due retry has been published, and has no reminder any more.
      const isPublished = !isRunning(state) && wakesAt !== null && wakesAt <= acting.at
      if (!isPublished) expect(acting.reminder).toBe(wakesAt)
      if (context.offer?.url === null) expect(counted?.stage).toBe(isRunning(state) ? 'running' : state)
    }
  })
})

test('a request that finds no update does not remove the device from the counts of a rollout', () => {
  const acting = ActingUpdate.offering({ found: foundOf({ rollout: { id: 'R', maxAttempts: 3 } }) })
  acting.reconnects('2.0.0', 't')
  const { counted } = acting.stored
  expect(counted).toMatchObject({ rollout: 'R', stage: 'done' })
  acting.begins({ id: 'K' })
  acting.act({ type: 'not_found', id: 'K', why: 'none' })
  expect([acting.updateState, acting.stored.counted]).toEqual(['idle', counted])
})
