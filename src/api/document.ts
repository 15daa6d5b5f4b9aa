import { version } from '#model/version'

/** The common part of `info` in both documents. */
export const about = {
  title: 'Device Data Backend',
  version,
  license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
} as const

/** The text of a generated document: indented, so that changes are readable in a diff. */
export function documentText(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`
}
