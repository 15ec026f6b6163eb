// Building blocks of the resource schemas, shared by the files that describe them.
#pragma once

#include "conf/schema/schema.hpp"

namespace sluice::conf::nodes {

inline constexpr bool kRequired = true;

schema::Node id();
schema::Node name();
schema::Node desc();
schema::Node labels();
schema::Node timestamp();
schema::Node host();
schema::Node ip(const char* description);
schema::Node timeout();
schema::Node method();
schema::Node plugins();
schema::Node certificate();
schema::Node private_key();
schema::Node url();

// id, name, desc, labels, create_time, update_time.
schema::Node with_metadata(const schema::Node& object);

schema::Node route();
schema::Node service();
schema::Node upstream();
schema::Node consumer();
schema::Node credential();
schema::Node consumer_group();
schema::Node global_rule();
schema::Node plugin_config();
schema::Node ssl();
schema::Node proto();
schema::Node stream_route();
schema::Node cost_decoration();
schema::Node plugin_list();
schema::Node vault();
schema::Node aws();
schema::Node gcp();

}  // namespace sluice::conf::nodes
