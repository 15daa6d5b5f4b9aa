import { isDeepStrictEqual } from 'node:util'
import { type Decisions, putIn, recordsWithoutEntry } from '#actors/record-actor'
import { answerUnchanged, authorshipAfter } from '#actors/tenant/authorship'
import type { TenantCommands } from '#actors/tenant/commands'
import { type TenantState, templatePrefix } from '#actors/tenant/state'
import { Problem } from '#model/problem'
import { type StoredTemplate, type TemplateBody, templatesMax } from '#model/template'
import { refuse } from '#runtime/actor'

/** Maximum length of all templates of a tenant, as JSON text: they are kept in memory, because every mail needs one. */
export const templateCharactersMax = 16 * 1024 * 1024

export const templateDecisions = {
  /** Contract 5.5. Putting an unchanged template keeps the last editor. */
  put_template(state, { name, body, author }, turn) {
    const { locales } = body
    const before = state.templates.get(name)
    if (before && isDeepStrictEqual(before.locales, locales)) return answerUnchanged(before)
    const problem = limitOf(state, body, before)
    if (problem) return refuse(problem)
    const stored: StoredTemplate = { locales, ...authorshipAfter(before, author, turn) }
    return recordsWithoutEntry([{ name: `${templatePrefix}${name}`, value: stored }], {
      answer: stored,
    })
  },

  /**
   * Contract 5.5. A template in use can be deleted. Until it exists again, mails of the functions that use it count as
   * not sent.
   */
  delete_template({ templates }, { name }) {
    if (!templates.has(name)) return refuse(new Problem('not_found'))
    return recordsWithoutEntry([{ name: `${templatePrefix}${name}`, value: null }])
  },
} satisfies Partial<Decisions<TenantState, TenantCommands>>

/** Sets or replaces a template; null: deletes it. */
export function putTemplate(state: TenantState, name: string, stored: StoredTemplate | null): void {
  const before = state.templates.get(name)
  if (before) state.templateCharacters -= charactersOf(before)
  putIn(state.templates, name, stored)
  if (stored) state.templateCharacters += charactersOf(stored)
}

function limitOf(state: TenantState, wanted: TemplateBody, before: StoredTemplate | undefined): Problem | undefined {
  if (!before && state.templates.size >= templatesMax) {
    return new Problem('conflict', `a tenant has at most ${templatesMax} templates`)
  }
  const characters = charactersOf(wanted) - (before ? charactersOf(before) : 0)
  if (state.templateCharacters + characters <= templateCharactersMax) return undefined
  return new Problem('conflict', `the templates of a tenant hold at most ${templateCharactersMax} characters`)
}

function charactersOf({ locales }: TemplateBody): number {
  return JSON.stringify(locales).length
}
