import { isFirmwareVersion, isShortName } from '#model/name-forms'

/** Names and versions. Contract 1.8. */

export const shortNameRule = '1 to 64 characters: letters, digits and . _ -'

/** A description of the fault; none for empty text. */
export function nameProblem(text: string): string | undefined {
  return text === '' || isShortName(text) ? undefined : `Must be ${shortNameRule}.`
}

/** A description of the fault; none for empty text. */
export function versionProblem(text: string): string | undefined {
  return text === '' || isFirmwareVersion(text) ? undefined : 'Must be a semantic version such as 1.2.3.'
}

/** The version in a file name: `1.5.0` of `boiler-1.5.0.bin`. */
export function versionIn(fileName: string): string | undefined {
  return /(?<![\d.])\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)[.\d]*\d)?(?![\d.]*\d)/i.exec(fileName)?.[0]
}
