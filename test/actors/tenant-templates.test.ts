import { describe, expect, test } from 'vitest'
import type { TenantCommand } from '#actors/tenant/commands'
import { templateCharactersMax } from '#actors/tenant/templates'
import type { TemplateBody } from '#model/template'
import { outcomeOf, turnAt } from '#test/actors/acting-actor'
import { ActingTenant, ann, mailTemplate } from '#test/actors/acting-tenant'

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
