import type { SocketMessage } from '#api/socket-message'
import { exampleDevice, exampleService } from '#api/state-shape'
import * as model from '#model/link-message'

/** Messages between devices and the server over a link. Contract 7. */

const flakeAddress = 5
const write = 'w:yHCgQx6nQ0Gk3z5rXo1d2A'
const offer = '5f1c0e2ab7d94c33a0d1e29b44c7f610'
const sha256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
const timestamp = 1_790_000_000_000

export const deviceMessages: readonly SocketMessage[] = [
  {
    name: 'HELLO',
    summary: 'The description of a device and its services; replaces the earlier declaration',
    schema: model.HelloMessage,
    examples: [
      {
        type: 'HELLO',
        deviceIdentifier: exampleDevice,
        session: 'boot-1',
        project: 'climate',
        firmwares: [{ firmware: '1.4.0', hardware: 'rev-b', index: 0 }],
        services: [
          {
            serviceIdentifier: exampleService,
            properties: [
              { propId: 8192, type: 'FLOAT', value: 21.5, modifier: { isVolatile: true } },
              { propId: 8193, type: 'UINT8' },
            ],
          },
        ],
      },
    ],
  },
  {
    name: 'UPDATE',
    summary: 'Values of one service, or errors in their place, in the order in which they arose',
    schema: model.UpdateMessage,
    examples: [
      {
        type: 'UPDATE',
        flakeAddress,
        seq: 1,
        serviceIdentifier: exampleService,
        updates: [
          { propId: 8192, value: 21.6 },
          { propId: 8193, error: 'no reading' },
        ],
        timestamp,
      },
    ],
  },
  {
    name: 'U',
    summary:
      'UPDATE in short form: flakeAddress, seq, index of the service in HELLO, pairs of propId and value (an error is `{"e":"…"}`), and timestamp',
    schema: model.ShortUpdateMessage,
    examples: [
      ['U', flakeAddress, 2, 0, [8192, 21.6, 8193, { e: 'no reading' }], timestamp],
      ['U', flakeAddress, 3, 0, [8192, 21.7]],
    ],
  },
  {
    name: 'RESULT',
    summary: 'The results of a WRITE, one for each property',
    schema: model.ResultMessage,
    examples: [
      {
        type: 'RESULT',
        flakeAddress,
        id: write,
        results: [
          { propId: 8192, status: 'OK' },
          { propId: 8193, status: 'REJECTED', message: 'window open' },
        ],
      },
    ],
  },
  {
    name: 'FIRMWARE_STATUS',
    summary: 'The progress of a firmware update on the device',
    schema: model.FirmwareStatusMessage,
    examples: [{ type: 'FIRMWARE_STATUS', flakeAddress, id: offer, status: 'DOWNLOADING', progress: 40 }],
  },
  {
    name: 'BYE',
    summary: 'The device disconnects; other devices stay connected by the same link',
    schema: model.ByeMessage,
    examples: [{ type: 'BYE', flakeAddress }],
  },
]

export const serverMessages: readonly SocketMessage[] = [
  {
    name: 'WELCOME',
    summary: 'The device may send; `seq` is the last stored message of its session, `secret` comes once',
    schema: model.WelcomeMessage,
    examples: [
      {
        type: 'WELCOME',
        flakeAddress,
        deviceIdentifier: exampleDevice,
        seq: 0,
        window: model.linkWindowMessages,
        timestamp,
      },
    ],
  },
  {
    name: 'ACK',
    summary: 'All messages up to `seq` are stored, or were refused for their content',
    schema: model.AckMessage,
    examples: [{ type: 'ACK', flakeAddress, seq: 1 }],
  },
  {
    name: 'A',
    summary: 'ACK in short form, for devices that send short forms: flakeAddress, seq',
    schema: model.ShortAckMessage,
    examples: [['A', flakeAddress, 2]],
  },
  {
    name: 'WRITE',
    summary:
      'Asks the device to change properties; may be sent repeatedly with the same `id`, and must take effect once',
    schema: model.WriteMessage,
    examples: [
      {
        type: 'WRITE',
        flakeAddress,
        id: write,
        serviceIdentifier: exampleService,
        updates: [
          { propId: 8192, value: 22.5 },
          { propId: 8193, value: 3 },
        ],
      },
    ],
  },
  {
    name: 'FIRMWARE',
    summary: 'Offers a firmware; the device reads its image at `url`, without credentials',
    schema: model.FirmwareMessage,
    examples: [
      {
        type: 'FIRMWARE',
        flakeAddress,
        id: offer,
        firmware: '2.1.0',
        hardware: 'rev-b',
        index: 0,
        url: `https://devices.example/api/v1/updates/images/${sha256}?device=${exampleDevice}&exp=1790086400000&sig=Zm9v`,
        sha256,
        size: 262_144,
      },
    ],
  },
  {
    name: 'ERROR',
    summary: 'An error for the message `seq`, for the device, or, without either, for the link',
    schema: model.ErrorMessage,
    examples: [
      {
        type: 'ERROR',
        code: 'BAD_VALUE',
        message: 'property 8192 must be a finite single-precision number',
        flakeAddress,
        seq: 3,
      },
    ],
  },
]
