import { describe, expect, test } from 'vitest'
import { anonymous } from '#access/anonymous'
import { emptyProject } from '#actors/project/state'
import { projectsMax } from '#model/release'
import { scopeOf } from '#model/scope'
import type { RouteContext } from '#routes/context'
import { mustHaveRoom } from '#routes/embedded-projects'

/** A tenant with so many projects, listed in pages as a store gives them: of any length but none. */
function contextOf(projects: number, pageMax: number): RouteContext {
  let left = projects
  const next = async (countMax: number) => {
    const count = Math.min(left, countMax, pageMax)
    left -= count
    return Array.from({ length: count }, (_, place) => `project-${place}`)
  }
  const listing = { entries: () => ({ next, close: async () => {} }) }
  return { listing, system: { look: () => emptyProject('new') } } as unknown as RouteContext
}

describe.each([1, 32, projectsMax])('with pages of %i', (pageMax) => {
  test.each([0, 1, projectsMax - 1])('a tenant with %i projects has room for another', async (projects) => {
    await expect(mustHaveRoom(contextOf(projects, pageMax), anonymous, 'new')).resolves.toBeUndefined()
  })

  test('of the last half none is begun by a caller who does not reach all devices', async () => {
    const narrow = { ...anonymous, scope: scopeOf([{ permissions: { '*': ['*'] }, devices: ['A'], services: ['*'] }]) }
    const half = projectsMax / 2
    await expect(mustHaveRoom(contextOf(half - 1, pageMax), narrow, 'new')).resolves.toBeUndefined()
    await expect(mustHaveRoom(contextOf(half, pageMax), narrow, 'new')).rejects.toMatchObject({ code: 'conflict' })
  })

  test.each([projectsMax, projectsMax + 1])('one with %i has not', async (projects) => {
    await expect(mustHaveRoom(contextOf(projects, pageMax), anonymous, 'new')).rejects.toMatchObject({
      code: 'conflict',
    })
  })
})
