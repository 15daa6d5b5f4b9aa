import { describe, expect, test } from 'vitest'
import { anonymous } from '#access/built-in-callers'
import { emptyProject } from '#actors/project/state'
import { projectsMax } from '#model/release'
import { scopeOf } from '#model/scope'
import type { RouteContext } from '#routes/context'
import { checkProjectLimit } from '#routes/update-projects'

/** A tenant with this many projects, listed in pages of any length above zero, like those of a store. */
function contextOf(projects: number, pageMax: number): RouteContext {
  let left = projects
  const next = async (countMax: number) => {
    const count = Math.min(left, countMax, pageMax)
    left -= count
    return Array.from({ length: count }, (_, place) => `project-${place}`)
  }
  const listing = { entries: () => ({ next, close: async () => {} }) }
  return { listing, system: { peek: () => emptyProject('new') } } as unknown as RouteContext
}

describe.each([1, 32, projectsMax])('with pages of %i', (pageMax) => {
  test.each([0, 1, projectsMax - 1])('a tenant with %i projects may get another one', async (projects) => {
    await expect(checkProjectLimit(contextOf(projects, pageMax), anonymous, 'new')).resolves.toBeUndefined()
  })

  test('a caller who does not reach all devices may not begin a project of the second half', async () => {
    const narrow = { ...anonymous, scope: scopeOf([{ permissions: { '*': ['*'] }, devices: ['A'], services: ['*'] }]) }
    const half = projectsMax / 2
    await expect(checkProjectLimit(contextOf(half - 1, pageMax), narrow, 'new')).resolves.toBeUndefined()
    await expect(checkProjectLimit(contextOf(half, pageMax), narrow, 'new')).rejects.toMatchObject({ code: 'conflict' })
  })

  test.each([projectsMax, projectsMax + 1])('a tenant with %i projects may not get another one', async (projects) => {
    await expect(checkProjectLimit(contextOf(projects, pageMax), anonymous, 'new')).rejects.toMatchObject({
      code: 'conflict',
    })
  })
})
