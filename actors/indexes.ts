import { runningActionIndex } from '#actors/action/action'
import { deliveringIndex } from '#actors/delivery/delivery'
import { alarmIndex, alarmLogIndex } from '#actors/device/alarms'
import { serviceIndex } from '#actors/device/declaration'
import { firmwareIndex, projectDeviceIndex } from '#actors/device/firmware-index'
import { presentIndex } from '#actors/device/status'
import { idempotencyIndex } from '#actors/idempotency/idempotency'
import { projectIndex, scanningIndex } from '#actors/project/state'
import { topicIndex } from '#actors/subscriber/state'
import { auditIndex, endingIndex } from '#actors/tenant/state'
import { updatingIndex } from '#actors/update/state'

/** All indexes of actors. Deleting a tenant removes its rows from each of them. */
export const indexes = [
  presentIndex,
  serviceIndex,
  alarmIndex,
  alarmLogIndex,
  auditIndex,
  firmwareIndex,
  projectDeviceIndex,
  idempotencyIndex,
  runningActionIndex,
  updatingIndex,
  projectIndex,
  scanningIndex,
  topicIndex,
  endingIndex,
  deliveringIndex,
]
