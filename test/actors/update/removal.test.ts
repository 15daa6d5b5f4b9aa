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
import { deviceWith } from '#test/actors/acting'
import { RecordingProjects } from '#test/actors/acting-project'
import { noRuleViews } from '#test/actors/no-rule-views'
import { begin, foundOf, offerTimeoutMs, sha256 } from '#test/actors/update/acting-update'
import { RuntimeFixture } from '#test/runtime/runtime-fixture'

const device = deviceAddress('default', 'A')
const update = updateAddress('default', 'A')
const project = projectAddress('default', 'p')
const key: ReleaseKey = { firmware: '2.0.0', hardware: null, index: 0 }

/** Device A with an active update to a stored release. */
async function updating(): Promise<{ stage: RuntimeFixture; moves: string[] }> {
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
  const stage = new RuntimeFixture({ definitions })
  await stage.open()
  stage.ask(device, { type: 'add', flakeAddress: 7, meta: {} })
  stage.ask(project, {
    type: 'put_release',
    release: { ...key, sha256, size: 9, createdAt: 1, createdBy: 'crn#user:U1' },
  })
  stage.ask(update, begin({ by: 'connect', found: foundOf() }))
  await stage.settle()
  return { stage, moves }
}

const usesOf = (stage: RuntimeFixture) => (stage.system.peek(project) as ProjectState).tally.uses[releaseName(key)]
const storedOf = (stage: RuntimeFixture) => stage.system.recordOf(update, updateRecord)

test('a removed device loses its update and its count in the same commit', async () => {
  const { stage, moves } = await updating()
  expect([usesOf(stage), moves, stage.system.reminders.count]).toEqual([1, ['A offering'], 1])
  const commits = stage.commits.length
  stage.ask(device, { type: 'remove' })
  expect(moves).toEqual(['A offering'])
  await stage.settle()
  expect(stage.commits).toHaveLength(commits + 1)
  expect(moves).toEqual(['A offering', 'A gone'])
  expect([usesOf(stage) ?? 0, storedOf(stage), stage.system.reminders.count]).toEqual([0, undefined, 0])
  expect([stage.bugs, stage.refusedTells]).toEqual([[], []])
})

test.each([0, 1])(
  'a process that dies during the removal leaves all or nothing, with %i writes on the disk',
  async (kept) => {
    const { stage, moves } = await updating()
    stage.ask(device, { type: 'remove' })
    stage.world.step()
    stage.crash(kept)
    const reborn = await stage.restart({ definitions: () => definitionsOf(stage) })
    const isThere = reborn.system.peek(device) !== undefined
    expect([isThere, storedOf(reborn) !== undefined, usesOf(reborn) ?? 0]).toEqual(
      kept === 0 ? [true, true, 1] : [false, false, 0],
    )
    expect(moves).toEqual(['A offering'])
  },
)

/** The actors survive the simulated process. */
function definitionsOf(stage: RuntimeFixture): AnyDefinition<Entry>[] {
  return ['device', 'tenant', 'project', 'update'].map((kind) => stage.system.registry.definition(kind))
}
