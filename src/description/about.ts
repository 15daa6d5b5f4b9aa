/** What both documents say of themselves. The version is that of the package. */
export const about = {
  title: 'Device Data Backend',
  version: '0.1.0',
  license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
} as const
