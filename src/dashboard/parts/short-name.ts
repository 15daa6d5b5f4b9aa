/** Names of roles, templates, projects and hardware. Contract 1.8; as the model has it, whose file brings its schemas along. */

const shortName = /^(?!(?:__proto__|\.{1,2})$)[A-Za-z0-9._-]{1,64}$/

export const shortNameRule = '1 to 64 of letters, digits and . _ -'

export function isShortName(text: string): boolean {
  return shortName.test(text)
}

/** What is wrong with it, as somebody types it; nothing is wrong with nothing. */
export function nameProblem(text: string): string | undefined {
  return text === '' || isShortName(text) ? undefined : `Must be ${shortNameRule}.`
}
