import { describe, expect, test } from 'vitest'
import { emptyProject } from '#actors/project/state'
import { projectsMax } from '#model/release'
import type { RouteContext } from '#routes/context'
import { mustHaveRoom } from '#routes/project-there'

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
    await expect(mustHaveRoom(contextOf(projects, pageMax), 'default', 'new')).resolves.toBeUndefined()
  })

  test.each([projectsMax, projectsMax + 1])('one with %i has not', async (projects) => {
    await expect(mustHaveRoom(contextOf(projects, pageMax), 'default', 'new')).rejects.toMatchObject({
      code: 'conflict',
    })
  })
})
