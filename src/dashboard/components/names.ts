/** Names and versions. Contract 1.8. The patterns are copied from the model, whose files would bundle its schemas. */

const shortName = /^(?!(?:__proto__|\.{1,2})$)[A-Za-z0-9._-]{1,64}$/

export const shortNameRule = '1 to 64 characters: letters, digits and . _ -'

/** Names of roles, templates, projects and hardware. */
export function isShortName(text: string): boolean {
  return shortName.test(text)
}

/** A description of the fault; none for empty text. */
export function nameProblem(text: string): string | undefined {
  return text === '' || isShortName(text) ? undefined : `Must be ${shortNameRule}.`
}

/** Versions of firmware, in the strict form. https://semver.org */
const version =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$/
const versionCharactersMax = 128

export function isVersion(text: string): boolean {
  return text.length <= versionCharactersMax && version.test(text)
}

/** A description of the fault; none for empty text. */
export function versionProblem(text: string): string | undefined {
  return text === '' || isVersion(text) ? undefined : 'Must be a semantic version such as 1.2.3.'
}

/** The version in a file name: `1.5.0` of `boiler-1.5.0.bin`. */
export function versionIn(fileName: string): string | undefined {
  return /(?<![\d.])\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)[.\d]*\d)?(?![\d.]*\d)/i.exec(fileName)?.[0]
}
