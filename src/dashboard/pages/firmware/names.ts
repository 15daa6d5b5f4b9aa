/** Versions and sizes of firmware. Contract 1.8. */

/** The strict form, https://semver.org. Copied from the model, whose file would bundle its schemas. */
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

/** `12.5 MB`: bytes in the largest unit. */
export function bytesText(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB']
  let place = 0
  let size = bytes
  while (size >= 1_000 && place < units.length - 1) {
    size /= 1_000
    place += 1
  }
  return `${place === 0 ? size : size.toFixed(size < 10 ? 2 : 1)} ${units[place]}`
}
