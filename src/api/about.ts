import { version } from '#model/version'

/** The common title of both documents. */
export const about = {
  title: 'Device Data Backend',
  version,
  license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
} as const
