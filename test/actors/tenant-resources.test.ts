import { describe, expect, test } from 'vitest'
import type { TenantCommand } from '#actors/tenant/commands'
import type { TenantState } from '#actors/tenant/state'
import { templateCharactersMax } from '#actors/tenant/templates'
import { alarmsMax } from '#model/alarm'
import { FunctionBody, functionsMax } from '#model/function'
import { groupsMax } from '#model/group'
import { TemplateBody, templatesMax } from '#model/template'
import { now, outcomeOf, turnAt } from '#test/actors/acting-actor'
import { ActingTenant, ann, ben, hotAlarm, mailTemplate } from '#test/actors/acting-tenant'

/** The rules that groups, alarms, functions and templates have in common. */

interface Kind {
  readonly put: (id: string, more: { isNew: boolean; author?: string; name?: string }) => TenantCommand
  readonly remove: (id: string) => TenantCommand
  readonly of: (state: TenantState) => Map<string, unknown>
  readonly max: number
  /** Alarms and functions act with the permissions of their last author, so another author is a change. */
  readonly hasAuthority: boolean
  readonly notice: (name: string, author: string) => string
}

const warmGraph = {
  nodes: [
    { id: 'when', type: 'trigger', on: 'property', serviceIdentifier: 'svc', propId: '0x2000', to: null },
    { id: 'warm', type: 'condition', logic: { '>': [{ var: 'value' }, 30.5] } },
  ],
  edges: [['when', 'warm']],
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
    notice: () => 'group t/X A',
  },
  alarms: {
    put: (id, { isNew, author = ann, name = 'Hot' }) => {
      const condition = structuredClone(hotAlarm.condition)
      return { type: 'put_alarm', id, isNew, body: { ...hotAlarm, name, condition }, author }
    },
    remove: (id) => ({ type: 'delete_alarm', id }),
    of: ({ alarms }) => alarms,
    max: alarmsMax,
    hasAuthority: true,
    notice: (name, author) => `alarm t/X ${name} by ${author}`,
  },
  functions: {
    put: (id, { isNew, author = ann, name = 'Told' }) => {
      const body = FunctionBody.parse({ name, binding: { devices: ['B', 'A'] }, graph: warmGraph })
      return { type: 'put_function', id, isNew, body, author }
    },
    remove: (id) => ({ type: 'delete_function', id }),
    of: ({ functions }) => functions,
    max: functionsMax,
    hasAuthority: true,
    notice: (name, author) => `function t/X ${name} by ${author}`,
  },
  templates: {
    put: (id, { author = ann, name = 'It' }) => {
      const body = TemplateBody.parse({ locales: { en: { ...mailTemplate.locales.en, subject: name } } })
      return { type: 'put_template', name: id, body, author }
    },
    remove: (name) => ({ type: 'delete_template', name }),
    of: ({ templates }) => templates,
    max: templatesMax,
    hasAuthority: false,
    notice: () => 'template t/X en',
  },
}

describe.each(Object.entries(kinds))('%s', (kind, { put, remove, of, max, hasAuthority, notice }) => {
  const existing = () => {
    const tenant = new ActingTenant()
    return { tenant, made: outcomeOf(tenant.act(put('X', { isNew: true }))) }
  }

  test('are created, changed and removed, with a notice each time', () => {
    const { tenant, made } = existing()
    const fieldsOf = (command: TenantCommand) => {
      const { binding: _, ...fields } = (command as { body: { binding?: object } }).body
      return fields
    }
    const by = (author: string, updatedAt: number) => ({ createdBy: ann, createdAt: now, updatedBy: author, updatedAt })
    expect(made).toMatchObject({ ...fieldsOf(put('X', { isNew: true })), ...by(ann, now) })
    expect(of(tenant.state).get('X')).toBe(made)
    tenant.at += 5
    const edit = put('X', { isNew: false, author: ben, name: 'Other' })
    const edited = outcomeOf(tenant.act(edit))
    expect(edited).toMatchObject({ ...fieldsOf(edit), ...by(ben, now + 5) })
    if (kind !== 'templates') expect(edited).not.toMatchObject({ edit: (made as { edit: number }).edit })
    tenant.act(remove('X'))
    expect(of(tenant.state).size).toBe(0)
    const name = (made as { name?: string }).name ?? ''
    const gone = `${notice('', '').split(' ', 2).join(' ')} gone`
    expect(tenant.rules.received).toEqual([notice(name, ann), notice('Other', ben), gone])
  })

  test('that are put again without a change do not change, also if they were loaded from the store', () => {
    const { tenant, made } = existing()
    const { length } = tenant.rules.lines
    tenant.at += 5
    // The decision is a record without changes, so that the answer waits until the present state is stored.
    const unchanged = { type: 'record', events: [], records: [], answer: made }
    expect(tenant.act(put('X', { isNew: false }))).toEqual(unchanged)
    expect(tenant.definition.decide(tenant.woken(), put('X', { isNew: false }), turnAt())).toEqual(unchanged)
    // A client may repeat a request because it did not receive the answer.
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
  // The author chooses the name of a template, so each put creates or changes it.
  test.each(kind === 'templates' ? refusals.slice(3) : refusals)('cannot be %s', (_, command, problem) => {
    const { tenant } = existing()
    expect(outcomeOf(tenant.act(command))).toBe(problem)
    expect([...of(tenant.state).keys()]).toEqual(['X'])
  })

  test(`are refused above ${max}, but existing ones may change`, () => {
    const { tenant } = existing()
    const all = of(tenant.state)
    for (let index = 1; index < max; index++) all.set(`X${index}`, all.get('X'))
    const decided = (command: TenantCommand) => tenant.definition.decide(tenant.state, command, turnAt())
    expect(outcomeOf(decided(put('Y', { isNew: true })))).toBe(`conflict: a tenant has at most ${max} ${kind}`)
    expect(decided(put('X', { isNew: false, name: 'Other' })).type).toBe('record')
  })
})

const german: TemplateBody = {
  locales: { ...mailTemplate.locales, de: { subject: 'Es ist {{value}}', text: 'Jetzt.' } },
}

describe('a template', () => {
  test('may be removed although a function names it, but only if it exists', () => {
    const tenant = new ActingTenant()
    tenant.putTemplate('words')
    tenant.makeFunction('F1')
    const remove = () => outcomeOf(tenant.act({ type: 'delete_template', name: 'words' }))
    expect([remove(), remove()]).toEqual([undefined, 'not_found: Not Found'])
    expect(tenant.state.functions.has('F1')).toBe(true)
  })
})

const decided = (tenant: ActingTenant, name: string, body: TemplateBody) => {
  const command: TenantCommand = { type: 'put_template', name, body, author: ann }
  return outcomeOf(tenant.definition.decide(tenant.state, command, turnAt()))
}

test('templates are refused above the maximum of characters, and a replaced template no longer counts', () => {
  const tenant = new ActingTenant()
  tenant.putTemplate('words')
  tenant.putTemplate('both', german)
  const [short, long] = [mailTemplate, german].map(({ locales }) => JSON.stringify(locales).length) as [number, number]
  expect(tenant.state.templateCharacters).toBe(short + long)
  tenant.state.templateCharacters = templateCharactersMax - (long - short)
  const refused = `conflict: the templates of a tenant hold at most ${templateCharactersMax} characters`
  expect(decided(tenant, 'more', mailTemplate)).toMatchObject(mailTemplate)
  expect(decided(tenant, 'more', german)).toBe(refused)
  expect(decided(tenant, 'words', german)).toMatchObject(german)
})
