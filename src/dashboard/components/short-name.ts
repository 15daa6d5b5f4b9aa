/**
 * Names of roles, templates, projects and hardware. Contract 1.8. Copied from the model, whose file would bundle its
 * schemas.
 */

const shortName = /^(?!(?:__proto__|\.{1,2})$)[A-Za-z0-9._-]{1,64}$/

export const shortNameRule = '1 to 64 characters: letters, digits and . _ -'

export function isShortName(text: string): boolean {
  return shortName.test(text)
}

/** A description of the fault; none for empty text. */
export function nameProblem(text: string): string | undefined {
  return text === '' || isShortName(text) ? undefined : `Must be ${shortNameRule}.`
}
