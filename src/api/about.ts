import { version } from '#model/version'

/** What both documents say of themselves. */
export const about = {
  title: 'Device Data Backend',
  version,
  license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
} as const
