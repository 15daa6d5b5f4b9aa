import { expect, test } from 'vitest'
import { deviceAddress } from '#actors/device/device'
import { noticeBus } from '#actors/notice-bus'
import { projectActor } from '#actors/project/project'
import { type ProjectState, projectAddress } from '#actors/project/state'
import { tenantActor } from '#actors/tenant/tenant'
import { updateAddress, updateRecord } from '#actors/update/state'
import { updateActor } from '#actors/update/update'
import type { Entry } from '#model/entry'
import { type ReleaseKey, releaseName } from '#model/release'
import type { AnyDefinition } from '#runtime/activation'
import { deviceWith } from '#test/actors/acting-device'
import { RecordingProjects } from '#test/actors/acting-project'
import { noRuleViews } from '#test/actors/no-rule-views'
import { begin, foundOf, offerTimeoutMs, sha256 } from '#test/actors/update/acting-update'
import { RuntimeFixture } from '#test/runtime/runtime-fixture'

const device = deviceAddress('default', 'A')
const update = updateAddress('default', 'A')
const project = projectAddress('default', 'p')
const key: ReleaseKey = { firmware: '2.0.0', hardware: null, index: 0 }

/** Device A with an active update to a stored release. */
async function updating(): Promise<{ fixture: RuntimeFixture; moves: string[] }> {
  const moves: string[] = []
  const notices = noticeBus()
  notices.listen({ updateMoved: (_, name, stands) => moves.push(`${name} ${stands?.state ?? 'gone'}`) })
  const definitions = () =>
    [
      deviceWith(noRuleViews),
      tenantActor(noticeBus()),
      projectActor(new RecordingProjects()),
      updateActor({ notices, offerTimeoutMs }),
    ] as unknown as AnyDefinition<Entry>[]
  const fixture = new RuntimeFixture({ definitions })
  await fixture.open()
  fixture.ask(device, { type: 'add', flakeAddress: 7, meta: {} })
  fixture.ask(project, {
    type: 'put_release',
    release: { ...key, sha256, size: 9, createdAt: 1, createdBy: 'crn#user:U1' },
  })
  fixture.ask(update, begin({ by: 'connect', found: foundOf() }))
  await fixture.settle()
  return { fixture, moves }
}

const usesOf = (fixture: RuntimeFixture) => (fixture.system.peek(project) as ProjectState).tally.uses[releaseName(key)]
const storedOf = (fixture: RuntimeFixture) => fixture.system.recordOf(update, updateRecord)

test('a removed device loses its update and its count in the same commit', async () => {
  const { fixture, moves } = await updating()
  expect([usesOf(fixture), moves, fixture.system.reminders.count]).toEqual([1, ['A offering'], 1])
  const commits = fixture.commits.length
  fixture.ask(device, { type: 'remove' })
  expect(moves).toEqual(['A offering'])
  await fixture.settle()
  expect(fixture.commits).toHaveLength(commits + 1)
  expect(moves).toEqual(['A offering', 'A gone'])
  expect([usesOf(fixture) ?? 0, storedOf(fixture), fixture.system.reminders.count]).toEqual([0, undefined, 0])
  expect([fixture.bugs, fixture.refusedTells]).toEqual([[], []])
})

test.each([0, 1])(
  'a process that dies during the removal leaves all or nothing, with %i writes on the disk',
  async (kept) => {
    const { fixture, moves } = await updating()
    fixture.ask(device, { type: 'remove' })
    fixture.world.step()
    fixture.crash(kept)
    const reborn = await fixture.restart({ definitions: () => definitionsOf(fixture) })
    const isThere = reborn.system.peek(device) !== undefined
    expect([isThere, storedOf(reborn) !== undefined, usesOf(reborn) ?? 0]).toEqual(
      kept === 0 ? [true, true, 1] : [false, false, 0],
    )
    expect(moves).toEqual(['A offering'])
  },
)

/** The actors survive the simulated process. */
function definitionsOf(fixture: RuntimeFixture): AnyDefinition<Entry>[] {
  return ['device', 'tenant', 'project', 'update'].map((kind) => fixture.system.registry.definition(kind))
}
