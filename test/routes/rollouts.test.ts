import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { pagesOf } from '#test/blackbox/pages'
import { FirmwareFixture, onUpdates } from '#test/routes/firmware-fixture'

/** Contract 6: rollouts, pins, projects. */

const project = '/updates/projects/boiler'
const rollout = `${project}/rollout`

let fixture: FirmwareFixture
beforeEach(async () => {
  fixture = await FirmwareFixture.open()
})
afterEach(() => fixture.close())

const group = async (...devices: string[]): Promise<string> => {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'Hall 3', devices })
  const { json } = await fixture.call('POST', '/groups', { headers, body })
  return json.resourceIdentifier.replace('crn#group:', '')
}

describe('a rollout', () => {
  test('is created, paused, resumed and deleted', async () => {
    expect((await fixture.call('GET', rollout)).status).toBe(404)
    const { status, json } = await fixture.put(rollout, fixture.rollout())
    expect([status, json]).toEqual([
      200,
      {
        ...JSON.parse(JSON.stringify(fixture.rollout())),
        state: 'running',
        counts: { chosen: 0, running: 0, done: 0, failed: 0, refused: 0 },
        createdBy: 'crn#user:anonymous',
        createdAt: expect.any(Number),
        updatedBy: 'crn#user:anonymous',
        updatedAt: expect.any(Number),
      },
    ])
    expect((await fixture.call('GET', rollout)).json).toEqual(json)
    for (const [verb, state] of [
      ['pause', 'paused'],
      ['pause', 'paused'],
      ['resume', 'running'],
      ['resume', 'running'],
    ]) {
      const answer = await fixture.call('POST', `${rollout}/${verb}`)
      expect([answer.status, answer.json.state]).toEqual([200, state])
    }
    expect((await fixture.call('DELETE', rollout)).status).toBe(204)
    for (const [method, path] of [
      ['DELETE', rollout],
      ['POST', `${rollout}/pause`],
      ['POST', `${rollout}/resume`],
    ] as const) {
      expect((await fixture.call(method, path)).status).toBe(404)
    }
  })

  test.each(['0 0 30 2 *', '99 * * * *', '* * * *', '@daily'])(
    'needs a window that opens at some time: %j',
    async (cron) => {
      const { status, json } = await fixture.put(rollout, fixture.rollout({ window: { cron, minutes: 60 } }))
      expect([status, json.error, json.details[0].path]).toEqual([400, 'Validation Error', 'window.cron'])
    },
  )

  test('for groups needs access to all their members', async () => {
    const [ofA, ofBoth] = [await group('A'), await group('A', 'B')]
    fixture.caller('narrow', onUpdates(['create', 'read', 'update', 'delete'], ['A']))
    fixture.caller(
      'both',
      onUpdates(['create', 'update', 'delete'], ['A']),
      onUpdates(['create', 'update', 'delete'], ['B']),
    )
    const put = (groups: readonly string[], by: string) => fixture.put(rollout, fixture.rollout({ groups }), by)
    expect((await put([ofBoth], 'narrow')).status).toBe(404)
    expect((await put([ofA, ofBoth], 'narrow')).status).toBe(404)
    expect((await put(['9Zz9Zz9Zz9'], 'both')).status).toBe(404)
    expect((await put([ofA], 'narrow')).status).toBe(200)
    expect((await fixture.call('POST', `${rollout}/pause`, { by: 'narrow' })).json.state).toBe('paused')
    expect((await put([ofBoth], 'both')).status).toBe(200)
    // The present rollout counts too: a caller who does not reach it cannot replace it.
    expect((await put([ofA], 'narrow')).status).toBe(404)
    expect((await fixture.call('POST', `${rollout}/resume`, { by: 'narrow' })).status).toBe(404)
    expect((await fixture.call('DELETE', rollout, { by: 'narrow' })).status).toBe(404)
    expect((await fixture.call('DELETE', rollout, { by: 'both' })).status).toBe(204)
  })
})

describe('a pin', () => {
  const pin = `${project}/pins/SENSOR-1`

  test('is set, read in any case, and removed', async () => {
    expect((await fixture.call('GET', pin)).status).toBe(404)
    expect((await fixture.put(`${project}/pins/sensor-1`, { firmware: '1.4.2' })).json).toEqual({ firmware: '1.4.2' })
    expect((await fixture.call('GET', pin)).json).toEqual({ firmware: '1.4.2' })
    expect((await fixture.call('DELETE', pin)).status).toBe(204)
    expect((await fixture.call('DELETE', pin)).status).toBe(404)
  })
})

test('projects exist while they have content, and are listed in pages', async () => {
  for (const name of ['c', 'a', 'b'])
    await fixture.put(`/updates/projects/${name}/pins/SENSOR-1`, { firmware: '1.0.0' })
  await fixture.upload('/updates/projects/b/releases/1.0.0', 'an image')
  await fixture.put('/updates/projects/b/rollout', fixture.rollout())
  const { json } = await fixture.call('GET', '/updates/projects')
  expect(json).toMatchObject([
    { project: 'a', resourceIdentifier: 'crn#project:default/a', releases: 0, pins: 1, rollout: null },
    { project: 'b', releases: 1, pins: 1, rollout: { state: 'running' } },
    { project: 'c' },
  ])
  const pages = await pagesOf((path) => fixture.call('GET', path), '/updates/projects?limit=2')
  expect(pages.map((page) => page.json)).toEqual([json.slice(0, 2), json.slice(2)])
  expect((await fixture.call('GET', '/updates/projects/a/releases')).json).toEqual([])
  await fixture.call('DELETE', '/updates/projects/a/pins/SENSOR-1')
  expect((await fixture.call('GET', '/updates/projects/a/releases')).status).toBe(404)
  expect((await fixture.call('GET', '/updates/projects')).json).toHaveLength(2)
})

test('pins of a project are listed by device within the scope, in pages', async () => {
  const pins = `${project}/pins`
  expect((await fixture.call('GET', pins)).status).toBe(404)
  for (const [device, firmware] of [
    ['C', '1.0.0'],
    ['A', '1.1.0'],
    ['B', '1.0.0'],
  ])
    expect((await fixture.put(`${pins}/${device}`, { firmware })).status).toBe(200)
  const { json } = await fixture.call('GET', pins)
  expect(json).toEqual([
    { deviceIdentifier: 'A', firmware: '1.1.0' },
    { deviceIdentifier: 'B', firmware: '1.0.0' },
    { deviceIdentifier: 'C', firmware: '1.0.0' },
  ])
  const pages = await pagesOf((path) => fixture.call('GET', path), `${pins}?limit=2`)
  expect(pages.map((page) => page.json)).toEqual([json.slice(0, 2), json.slice(2)])
  fixture.caller('reader', onUpdates(['read'], ['B']))
  expect((await fixture.call('GET', pins, { by: 'reader' })).json).toEqual([json[1]])
  await fixture.call('DELETE', `${pins}/A`)
  expect((await fixture.call('GET', pins)).json).toEqual(json.slice(1))
})
