import { describe, expect, test } from 'vitest'
import type { TenantCommand } from '#actors/tenant/commands'
import type { TenantState } from '#actors/tenant/state'
import { alarmsMax } from '#model/alarm'
import { functionsMax } from '#model/function'
import { groupsMax } from '#model/group'
import { templatesMax } from '#model/template'
import { outcomeOf, turnAt } from '#test/actors/acting-actor'
import { ActingTenant, ann, ben, hot, told, words } from '#test/actors/acting-tenant'

/** The rules that groups, alarms, functions and templates have in common. */

interface Kind {
  readonly put: (id: string, more: { isNew: boolean; author?: string; name?: string }) => TenantCommand
  readonly remove: (id: string) => TenantCommand
  readonly of: (state: TenantState) => Map<string, unknown>
  readonly max: number
  /** Alarms and functions act with the permissions of their last author, so another author is a change. */
  readonly hasAuthority: boolean
}

const kinds: Readonly<Record<string, Kind>> = {
  groups: {
    put: (id, { isNew, author = ann, name = 'Hall' }) => {
      return { type: 'put_group', id, isNew, body: { name, devices: ['A'] }, author }
    },
    remove: (id) => ({ type: 'delete_group', id }),
    of: ({ groups }) => groups,
    max: groupsMax,
    hasAuthority: false,
  },
  alarms: {
    put: (id, { isNew, author = ann, name = 'Hot' }) => {
      const condition = structuredClone(hot.condition)
      return { type: 'put_alarm', id, isNew, body: { ...hot, name, condition }, author }
    },
    remove: (id) => ({ type: 'delete_alarm', id }),
    of: ({ alarms }) => alarms,
    max: alarmsMax,
    hasAuthority: true,
  },
  functions: {
    put: (id, { isNew, author = ann, name = 'Told' }) => {
      return { type: 'put_function', id, isNew, body: { ...structuredClone(told), name }, author }
    },
    remove: (id) => ({ type: 'delete_function', id }),
    of: ({ functions }) => functions,
    max: functionsMax,
    hasAuthority: true,
  },
  templates: {
    put: (id, { author = ann, name = 'It' }) => {
      const { en } = words.locales
      return {
        type: 'put_template',
        name: id,
        body: { locales: { en: { text: 'Now.', ...en, subject: name } } },
        author,
      }
    },
    remove: (name) => ({ type: 'delete_template', name }),
    of: ({ templates }) => templates,
    max: templatesMax,
    hasAuthority: false,
  },
}

describe.each(Object.entries(kinds))('%s', (name, { put, remove, of, max, hasAuthority }) => {
  const existing = () => {
    const tenant = new ActingTenant()
    return { tenant, made: outcomeOf(tenant.act(put('X', { isNew: true }))) }
  }

  test('that are put again without a change stay as they are', () => {
    const { tenant, made } = existing()
    const { length } = tenant.rules.lines
    tenant.at += 5
    // Compared as a record: the state must not come from a failed write.
    const unchanged = { type: 'record', events: [], changes: [], records: [], answer: made }
    expect(tenant.act(put('X', { isNew: false }))).toEqual(unchanged)
    // The client repeats a request whose answer it did not receive.
    expect(tenant.act(put('X', { isNew: true }))).toEqual(unchanged)
    const byAnother = tenant.act(put('X', { isNew: false, author: ben }))
    if (hasAuthority) expect(outcomeOf(byAnother)).toMatchObject({ createdBy: ann, updatedBy: ben })
    else expect(byAnother).toEqual(unchanged)
    expect(tenant.rules.lines).toHaveLength(length + (hasAuthority ? 1 : 0))
  })

  const refusals: readonly (readonly [string, TenantCommand, string])[] = [
    ['created while one exists', put('X', { isNew: true, name: 'Other' }), 'conflict: the id is taken'],
    ['created again by another author', put('X', { isNew: true, author: ben }), 'conflict: the id is taken'],
    ['changed while none exists', put('Y', { isNew: false }), 'not_found: Not Found'],
    ['removed while none exists', remove('Y'), 'not_found: Not Found'],
  ]
  // A template has a name of its author's choice: each put creates or changes it.
  test.each(name === 'templates' ? refusals.slice(3) : refusals)('are not %s', (_, command, problem) => {
    const { tenant } = existing()
    expect(outcomeOf(tenant.act(command))).toBe(problem)
    expect([...of(tenant.state).keys()]).toEqual(['X'])
  })

  test(`are refused above ${max}, but existing ones may change`, () => {
    const { tenant } = existing()
    const all = of(tenant.state)
    for (let index = 1; index < max; index++) all.set(`X${index}`, all.get('X'))
    const decided = (command: TenantCommand) => tenant.definition.decide(tenant.state, command, turnAt())
    expect(outcomeOf(decided(put('Y', { isNew: true })))).toBe(`conflict: a tenant has at most ${max} ${name}`)
    expect(decided(put('X', { isNew: false, name: 'Other' })).type).toBe('record')
  })
})
