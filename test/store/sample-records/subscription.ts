import type { StoredSubscription } from '#model/subscription'

export const subscription: StoredSubscription = {
  id: '5Tn2bGh9Kd',
  function: '6Hn3wRt5Mz',
  type: 'email',
  locale: 'de-CH',
  createdBy: 'crn#user:2Vb7qYx9Kd',
  createdAt: 1_763_700_000_000,
  origin: 'https://acme.example',
}
