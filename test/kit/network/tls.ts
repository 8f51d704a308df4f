/**
 * A self-signed certificate that only test targets use. It covers `localhost`, `target.test`, 127.0.0.1 and ::1. It is
 * valid from 2020 to 2120, so that a machine with a wrong clock accepts it. Made from a P-256 key with
 * `openssl ca -selfsign -startdate 20200101000000Z -enddate 21200101000000Z`.
 */
export const certificate = `-----BEGIN CERTIFICATE-----
MIIBnDCCAUKgAwIBAgIBATAKBggqhkjOPQQDAjAfMR0wGwYDVQQDDBRDYXJpbGxv
biB0ZXN0IHRhcmdldDAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFow
HzEdMBsGA1UEAwwUQ2FyaWxsb24gdGVzdCB0YXJnZXQwWTATBgcqhkjOPQIBBggq
hkjOPQMBBwNCAAQPuH3ULBVGqRPZBOtXVeSIggX72f4sPK4VsSt4NuBmY8qgpP4y
YmY3pJ4YwDfkLLllrx2+0E/ln6fJTpJ423THo20wazA5BgNVHREEMjAwgglsb2Nh
bGhvc3SCC3RhcmdldC50ZXN0hwR/AAABhxAAAAAAAAAAAAAAAAAAAAABMA8GA1Ud
EwEB/wQFMAMBAf8wHQYDVR0OBBYEFLRpWqAIjiKe57SxCc9UkuIJtqQ9MAoGCCqG
SM49BAMCA0gAMEUCIQDhb7jYPTI0Oh6aZQ/vwNuzb368q3fkLMI2B139Zm4yiwIg
CXP/8rNVicl8dTv3PN1DPZE90R0plg8XXpTkIs1blec=
-----END CERTIFICATE-----
`;

export const privateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgfOgnmnMmph1h2MoS
wRP/tEsRZIqy6ARfDaujWIzatlChRANCAAQPuH3ULBVGqRPZBOtXVeSIggX72f4s
PK4VsSt4NuBmY8qgpP4yYmY3pJ4YwDfkLLllrx2+0E/ln6fJTpJ423TH
-----END PRIVATE KEY-----
`;
