import { alarm, at, device } from '#test/store/sample-records/entries'

/** Rules of a tenant: name of the sample, record, meaning. */
export const watchedSamples: readonly (readonly [name: string, record: string, means: unknown])[] = [
  ['tenant-alarm', 'alarm/7Lf2wZs6Dy', alarm],
  [
    'tenant-group',
    'group/5Kd9tVw3Cx',
    {
      name: 'Halle 3',
      devices: [device.id, 'A'],
      createdBy: 'crn#user:2Vb7qYx9Kd',
      createdAt: at,
      updatedBy: 'crn#user:anonymous',
      updatedAt: at + 1,
      edit: 0,
    },
  ],
  [
    'tenant-judged',
    'judged/7Lf2wZs6Dy',
    { digest: 'q83vEjRWeJCrze8S', sweeping: 'NzbLsXh8uDCcd-6M', cursor: device.id },
  ],
  ['tenant-judged-never', 'judged/8Mg3xAt7Ez', { digest: '', sweeping: null, cursor: '' }],
]
