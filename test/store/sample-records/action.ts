import type { StoredPage } from '#actors/action/action'
import type { StoredAction } from '#model/action'
import { at } from '#test/store/sample-records/entries'

export const actionSample: StoredAction = {
  serviceIdentifier: 'climate',
  updates: { setpoint: 21.5, '0x2001': 'HEATING', '8194': [1, -2], '0x2003': '9223372036854775807', '0x2004': true },
  createdBy: 'crn#user:2Vb7qYx9Kd',
  createdAt: at,
  total: 8,
  isDone: true,
}

/** Pages of an action: one with each result, and one without results. */
export const pageSamples: readonly (readonly [name: string, means: StoredPage])[] = [
  [
    'action-page',
    {
      createdAt: at,
      devices: ['#$ABC-1', 'A', 'B', 'C', 'D', 'E', 'F'],
      outcomes: [
        { status: 'OK' },
        {
          status: 'REJECTED',
          updates: [
            { propId: 8192, status: 'OK' },
            { propId: 8193, status: 'REJECTED', message: 'Fenster geöffnet' },
          ],
        },
        { status: 'DEVICE_OFFLINE' },
        { status: 'DEVICE_TIMEOUT' },
        { status: 'NOT_FOUND' },
        { status: 'INVALID', details: [{ path: 'setpoint', message: 'must be below 30' }] },
        null,
      ],
    },
  ],
  ['action-page-begun', { createdAt: at, devices: ['X=1'], outcomes: [null] }],
]
